package files

import (
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/synthetic"
)

// goodVersion is a good version of an object.
type goodVersion struct {
	schema.Object
	digest     digest          // of its text
	edit       *model.LastEdit // when and where that was read; as published, if it is live
	generation int64           // as published
}

func newGoodVersion(o schema.Object, d digest, edit *model.LastEdit) *goodVersion {
	if o.Ref.Kind() == model.KindNamespace {
		o.Labels = synthetic.NamespaceLabels(o.Labels, o.Ref.Name())
	}
	return &goodVersion{Object: o, digest: d, edit: edit}
}

// isBuiltin says that the object is there without a file.
func (o *goodVersion) isBuiltin() bool { return o.edit.Where == "" }

// firstGeneration is the generation to begin with.
func (o *goodVersion) firstGeneration() int64 {
	if o.Stated == nil {
		return 1
	}
	return max(1, o.Stated.Generation)
}

// publishedMeta makes the metadata to publish.
func (o *goodVersion) publishedMeta() model.Meta {
	meta := model.Meta{Generation: o.generation, Labels: o.Labels, LastEdit: o.edit}
	if o.Stated != nil {
		meta.UID, meta.Created = o.Stated.UID, o.Stated.Created
	}
	return meta
}
