package files

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"cardea.dev/cardea/internal/arrival"
	"cardea.dev/cardea/internal/model"
)

// waits says whether an object's new version must wait, with the live one serving meanwhile: it names what is not there, and the
// live one did not. Most likely that is being written, too. It waits for Hold at most.
func (m *merge) waits(o *object) bool {
	current := m.subjects[o.Ref].live
	if current == nil || current == o {
		return false
	}
	if !arrival.Loses(m, arrival.References(o.Ref, current.Spec), arrival.References(o.Ref, o.Spec)) {
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
func (m *merge) Has(r arrival.Reference) bool {
	o := m.subjects[r.To].live
	if o == nil {
		return false
	}
	parts, divided := arrival.Parts(o.Spec)
	switch {
	case !divided:
		return true
	case r.To.Kind() == model.KindService && !m.sliced(r.To):
		return false // a Service and its slices are often two files, and without slices it can't serve
	}
	return r.Finds(parts)
}

// sliced says whether a Service has an EndpointSlice.
func (m *merge) sliced(service model.ObjectRef) bool {
	if m.withSlices == nil {
		m.withSlices = map[model.ObjectRef]bool{}
		for ref, s := range m.subjects {
			if ref.Kind() == model.KindEndpointSlice && s.live != nil {
				m.withSlices[model.Ref(model.KindService, ref.Namespace(), s.live.Labels.Get(discoveryv1.LabelServiceName))] = true
			}
		}
	}
	return m.withSlices[service]
}
