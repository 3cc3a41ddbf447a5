package files

import (
	"cardea.dev/cardea/internal/arrival"
	"cardea.dev/cardea/internal/kind"
	"cardea.dev/cardea/internal/model"
)

// waits says whether an object's new version must wait, with the live one serving meanwhile: it names what is not
// there, and the live one did not. Most likely that is being written, too. It waits for Hold at most.
func (m *merge) waits(o *object) bool {
	current := m.subjects[o.Ref].live
	if current == nil || current == o {
		return false
	}
	if !arrival.Loses(m, m.catalog.Names(o.Ref, current.Spec), m.catalog.Names(o.Ref, o.Spec)) {
		return false
	}
	until, waited := m.held[o.Ref]
	if !waited {
		m.held[o.Ref] = m.now.Add(Hold)
		return true
	}
	return !m.expire || m.now.Before(m.until(until))
}

// Has implements arrival.Present: an object that was published, with that part.
func (m *merge) Has(r kind.Reference) bool {
	o := m.subjects[r.To].live
	if o == nil {
		return false
	}
	k := m.catalog.Of(r.To.Kind())
	parts, divided := k.PartsOf(o.Spec)
	switch {
	case k.Sliced != nil && k.Sliced(o.Spec) && !m.sliced(r.To):
		return false // an object and its slices are often two files, and without slices it can't serve
	case !divided:
		return true
	}
	return r.Finds(parts)
}

// sliced says whether a backend has an EndpointSlice with endpoints.
func (m *merge) sliced(backend model.ObjectRef) bool {
	if m.withSlices == nil {
		m.withSlices = map[model.ObjectRef]bool{}
		for ref, s := range m.subjects {
			if k := m.catalog.Of(ref.Kind()); s.live != nil && k != nil && k.Owners != nil {
				for _, owner := range k.Owners(ref, s.live.Labels, s.live.Spec) {
					m.withSlices[owner] = true
				}
			}
		}
	}
	return m.withSlices[model.Ref(backend.Kind(), backend.Namespace(), model.LabelValue(backend.Name()))]
}
