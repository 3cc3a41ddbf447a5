package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// IgnoredSlices warns of EndpointSlices that name an InferencePool or an XBackend in their label, if a part of the
// slice has no effect. It looks at all slices, but only when somebody asks for findings: an edit of endpoints costs no
// more for it.
func (m *Meaning) IgnoredSlices(v flow.View) (list []model.Finding) {
	for labelled := range flow.All(v, m.slices) {
		list = append(list, m.ignored(v, labelled)...)
	}
	return list
}

// NewlyIgnoredSlices are those about what the edits of a Try touch; v is its View.
func (m *Meaning) NewlyIgnoredSlices(v flow.View) (list []model.Finding) {
	touched := map[model.ObjectRef]bool{}
	for change := range flow.Staged(v, m.slices) {
		touched[change.Key] = true
	}
	for change := range flow.Staged(v, m.pools) {
		touched[asLabel(change.Key)] = true
	}
	for change := range flow.Staged(v, m.xbackends) {
		touched[asLabel(change.Key)] = true
	}
	for labelled := range touched {
		list = append(list, m.ignored(v, labelled)...)
	}
	return list
}

// asLabel is a backend with its name as a label can hold it.
func asLabel(backend model.ObjectRef) model.ObjectRef {
	return model.Ref(backend.Kind(), backend.Namespace(), model.LabelValue(backend.Name()))
}

// ignored is about the slices with one label. It says nothing of Services: a cluster may have slices for a moment
// before and after their Service, and they have the Service's ports.
func (m *Meaning) ignored(v flow.View, labelled model.ObjectRef) (list []model.Finding) {
	if labelled.Kind() != model.KindInferencePool && labelled.Kind() != model.KindXBackend {
		return nil
	}
	ports, found := m.portsAt(v, labelled)
	if !found && m.unreadable(v, labelled) {
		return nil // its own finding says so
	}
	members, _ := flow.Get(v, m.slices, labelled)
	label := fmt.Sprintf("metadata.labels[%s]", m.backends[labelled.Kind()].sliceLabel())
	for ref, slice := range members.All() {
		if len(slice.Spec.Endpoints) == 0 {
			continue
		}
		f := model.Finding{Object: ref, Severity: model.Warning, Field: label}
		switch others := otherPorts(ports, slice.Spec); {
		case !found:
			f.Message = fmt.Sprintf("%s does not exist, so these endpoints have no effect", labelled)
		case len(ports) == 0:
			f.Message = fmt.Sprintf("%s states a hostname, so these endpoints have no effect", labelled)
		case slice.Spec.AddressType == discoveryv1.AddressTypeFQDN:
			f.Field = "addressType"
			f.Message = fmt.Sprintf("hostnames are no endpoints of %s; use addresses (IPv4 or IPv6)", labelled)
		case others != "":
			f.Field = "ports"
			f.Message = fmt.Sprintf("%s is asked at the ports that it states (%s), so %s has no effect; state it there, or "+
				"leave it out here", labelled, joined(ports), others)
		default:
			continue
		}
		list = append(list, f)
	}
	return list
}

// portsAt are the ports that a backend states for each of its addresses; none: it has a hostname.
func (m *Meaning) portsAt(v flow.View, labelled model.ObjectRef) (ports []int32, found bool) {
	if pool, is := flow.Get(v, m.pools, labelled); is {
		return pool.Ports, true
	}
	if x, is := flow.Get(v, m.xbackends, labelled); is {
		if x.Selection.Port != 0 {
			ports = []int32{x.Selection.Port}
		}
		return ports, true
	}
	return nil, false
}

// unreadable tells whether a backend may be declared all the same: with a mistake, or with a name that is longer than a
// label's value, which the label has in another form.
func (m *Meaning) unreadable(v flow.View, labelled model.ObjectRef) bool {
	if _, broken := flow.Get(v, m.in.Broken.Collection(), labelled); broken {
		return true
	}
	is := func(ref model.ObjectRef) bool {
		return ref.Kind() == labelled.Kind() && ref.Namespace() == labelled.Namespace() &&
			model.LabelValue(ref.Name()) == labelled.Name()
	}
	for ref := range flow.All(v, m.pools) {
		if is(ref) {
			return true
		}
	}
	for ref := range flow.All(v, m.xbackends) {
		if is(ref) {
			return true
		}
	}
	return false
}

// otherPorts are the ports of a slice that are none of these.
func otherPorts(ports []int32, slice *input.EndpointSliceSpec) string {
	var others []int32
	for _, p := range slice.Ports {
		if p.Port != nil && !slices.Contains(ports, *p.Port) {
			others = append(others, *p.Port)
		}
	}
	return joined(others)
}

// joined is "8000, 8001".
func joined(ports []int32) string {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = strconv.Itoa(int(p))
	}
	return strings.Join(texts, ", ")
}
