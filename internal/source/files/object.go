package files

import (
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/synthetic"
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
		o.Labels = synthetic.Named(o.Labels, o.Ref.Name())
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

// meta makes the metadata to publish.
func (o *object) meta() model.Meta {
	meta := model.Meta{Generation: o.generation, Labels: o.Labels, Edit: o.edit}
	if o.Stated != nil {
		meta.UID, meta.Created = o.Stated.UID, o.Stated.Created
	}
	return meta
}
