package kube

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// trimObject keeps of an object what Cardea reads; of its entries, those that somebody asks for. It may be called from
// any goroutine. The argument is not used by anyone else any more; the result shares memory with it.
func trimObject(k *kind.Kind, from any, keys kind.DataKeys) (*object, error) {
	if o, done := from.(*object); done {
		return o, nil
	}
	m, ok := from.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not read", from)
	}
	kept, err := k.Content.Read(m)
	if err != nil {
		return nil, err
	}
	if k.Content.Narrow != nil {
		kept.Spec = k.Content.Narrow(kept.Spec, keys)
	}
	o := &object{
		ref:  model.Ref(k.Kind, internString(m.GetNamespace()), m.GetName()),
		meta: metaOf(m, k.MergeAnnotations(kept.Labels, m.GetAnnotations()), k.Content.EditField), spec: kept.Spec,
		hasOwnStatus: slices.Contains(kept.Controllers, model.ControllerName),
	}
	o.meta.Unknown = kept.Unknown
	if k.Content.Fingerprint == nil {
		o.fingerprint = fingerprintOf(o.meta, generation{m.GetGeneration(), kept.Sum})
	} else {
		o.fingerprint = fingerprintOf(o.meta, k.Content.Fingerprint(o.spec))
	}
	o.index = indexOf(k, o)
	return o, nil
}

// indexOf is what others have to know of an object.
func indexOf(k *kind.Kind, o *object) *index {
	parts, divided := k.PartsOf(o.spec)
	i := &index{references: k.ListReferences(o.ref, o.spec), parts: parts, anyPart: !divided}
	if k.Owners != nil {
		if owners := k.Owners(o.ref, o.meta.Labels, o.spec); len(owners) > 0 {
			i.backend = owners[0]
		}
	}
	if len(i.references) == 0 && i.backend == (model.ObjectRef{}) && i.anyPart {
		return plainIndex
	}
	return i
}
