package files

import (
	"encoding/hex"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/schema"
)

// object is a good version of an object.
type object struct {
	schema.Object
	digest     digest      // of its text
	edit       *model.Edit // when and where that was read; as published, if it is live
	generation int64       // as published
}

func newObject(o schema.Object, d digest, edit *model.Edit) *object {
	if o.Ref.Kind() == model.KindNamespace {
		labels := maps.Clone(o.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelMetadataName] = o.Ref.Name()
		o.Labels = labels
	}
	return &object{Object: o, digest: d, edit: edit}
}

// builtin says that the object is there without a file.
func (o *object) builtin() bool { return o.edit.Where == "" }

// stated is the generation to begin with.
func (o *object) stated() int64 {
	if o.Stated == nil {
		return 1
	}
	return max(1, o.Stated.Generation)
}

// meta is the metadata to publish.
func (o *object) meta() model.Meta {
	meta := model.Meta{Generation: o.generation, Labels: o.Labels, Edit: *o.edit}
	if o.Stated != nil {
		meta.UID, meta.Created = o.Stated.UID, o.Stated.Created
	}
	if meta.UID == "" {
		meta.UID = derivedUID(o.Ref)
	}
	return meta
}

// derivedUID is a UID that is the same in every run.
func derivedUID(ref model.ObjectRef) string {
	d := digestOf([]byte(ref.Kind().Group()+"/"+ref.Kind().String()+"/"+ref.Namespace()+"/"+ref.Name()), false)
	d[6], d[8] = d[6]&0x0f|0x80, d[8]&0x3f|0x80 // a UUID of version 8: made by a rule of our own
	h := hex.EncodeToString(d[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
