package files

import (
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// versionSource is what package lifecycle has to know of objects.
type versionSource struct{ *Folder }

// ListReferences implements lifecycle.Source.
func (f versionSource) ListReferences(o *goodVersion) []kind.Reference {
	return f.catalog.ListReferences(o.Ref, o.Spec)
}

// HasPart implements lifecycle.Source: the object has that part.
func (f versionSource) HasPart(r kind.Reference, o *goodVersion) bool {
	k := f.catalog.FindKind(r.To.Kind())
	if k.OwnsEndpointSlices != nil && k.OwnsEndpointSlices(o.Spec) && !f.hasSlices(r.To) {
		return false // an object and its slices are often two files, and without slices it can't serve
	}
	parts, divided := k.PartsOf(o.Spec)
	return !divided || r.MatchesPart(parts)
}

// hasSlices says whether a backend has an EndpointSlice with endpoints.
func (f versionSource) hasSlices(backend model.ObjectRef) bool {
	if f.backendsWithSlices == nil {
		f.backendsWithSlices = map[model.ObjectRef]bool{}
		for _, k := range f.catalog.All() {
			if k.Owners == nil {
				continue
			}
			for ref, o := range f.objects.PublishedOfKind(k.Kind) {
				for _, owner := range k.Owners(ref, o.Labels, o.Spec) {
					f.backendsWithSlices[owner] = true
				}
			}
		}
	}
	return f.backendsWithSlices[model.Ref(backend.Kind(), backend.Namespace(), model.LabelValue(backend.Name()))]
}
