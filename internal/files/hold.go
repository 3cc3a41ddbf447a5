package files

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/arrival"
	"cardea.dev/cardea/internal/model"
)

// waits says whether an object's new version must wait, with the live one serving meanwhile: it names what is not
// there, and the live one did not. Most likely that is being written, too. It waits for Hold at most.
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
	case needsSlices(o) && !m.sliced(r.To):
		return false // an object and its slices are often two files, and without slices it can't serve
	case !divided:
		return true
	}
	return r.Finds(parts)
}

// needsSlices says whether an object has its endpoints in EndpointSlices.
func needsSlices(o *object) bool {
	spec, is := o.Spec.(*xgatewayv1alpha1.BackendSpec)
	return is && spec.EndpointSelector != nil || o.Ref.Kind() == model.KindService
}

// sliced says whether a Service or an XBackend has an EndpointSlice.
func (m *merge) sliced(backend model.ObjectRef) bool {
	if m.withSlices == nil {
		m.withSlices = map[model.ObjectRef]bool{}
		for ref, s := range m.subjects {
			if ref.Kind() == model.KindEndpointSlice && s.live != nil {
				m.withSlices[model.Ref(model.KindService, ref.Namespace(), s.live.Labels.Get(discoveryv1.LabelServiceName))] = true
				m.withSlices[model.Ref(model.KindXBackend, ref.Namespace(), s.live.Labels.Get(model.XBackendLabel))] = true
			}
		}
	}
	if backend.Kind() == model.KindXBackend {
		backend = model.Ref(model.KindXBackend, backend.Namespace(), model.LabelValue(backend.Name()))
	}
	return m.withSlices[backend]
}
