package kube

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// trim keeps of an object what Cardea reads; of its entries, those that somebody asks for. It may be called from any
// goroutine. The argument is not used by anyone else any more; the result shares memory with it.
func trim(k *kind.Kind, from any, keys kind.Keys) (*object, error) {
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
		ref:  model.Ref(k.Kind, shared(m.GetNamespace()), m.GetName()),
		meta: metaOf(m, k.Noted(kept.Labels, m.GetAnnotations()), k.Content.Edited), spec: kept.Spec,
		mine: slices.Contains(kept.Controllers, model.ControllerName),
	}
	o.meta.Unknown = kept.Unknown
	if k.Content.Print == nil {
		o.print = fingerprint(o.meta, generation{m.GetGeneration(), kept.Sum})
	} else {
		o.print = fingerprint(o.meta, k.Content.Print(o.spec))
	}
	o.index = indexOf(k, o)
	return o, nil
}

// indexOf is what others have to know of an object.
func indexOf(k *kind.Kind, o *object) *index {
	parts, divided := k.PartsOf(o.spec)
	i := &index{names: k.Names(o.ref, o.spec), parts: parts, whole: !divided}
	if k.Owners != nil {
		if owners := k.Owners(o.ref, o.meta.Labels, o.spec); len(owners) > 0 {
			i.backs = owners[0]
		}
	}
	if len(i.names) == 0 && i.backs == (model.ObjectRef{}) && i.whole {
		return plain
	}
	return i
}
