package files

import (
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// versions is what package lifecycle has to know of objects.
type versions struct{ *Folder }

// Names implements lifecycle.Source.
func (f versions) Names(o *object) []kind.Reference { return f.catalog.Names(o.Ref, o.Spec) }

// Finds implements lifecycle.Source: the object has that part.
func (f versions) Finds(r kind.Reference, o *object) bool {
	k := f.catalog.Of(r.To.Kind())
	if k.Sliced != nil && k.Sliced(o.Spec) && !f.isSliced(r.To) {
		return false // an object and its slices are often two files, and without slices it can't serve
	}
	parts, divided := k.PartsOf(o.Spec)
	return !divided || r.Finds(parts)
}

// isSliced says whether a backend has an EndpointSlice with endpoints.
func (f versions) isSliced(backend model.ObjectRef) bool {
	if f.sliced == nil {
		f.sliced = map[model.ObjectRef]bool{}
		for _, k := range f.catalog.All() {
			if k.Owners == nil {
				continue
			}
			for ref, o := range f.life.AllKnown(k.Kind) {
				for _, owner := range k.Owners(ref, o.Labels, o.Spec) {
					f.sliced[owner] = true
				}
			}
		}
	}
	return f.sliced[model.Ref(backend.Kind(), backend.Namespace(), model.LabelValue(backend.Name()))]
}
