package backend

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// IgnoredSlices warns of EndpointSlices that name, in their label, a backend that states its ports, if a part of the
// slice has no effect. It looks at all slices, but only when somebody asks for findings: an edit of endpoints costs no
// more for it.
func (all *Backends) IgnoredSlices(v flow.View) (list []model.Finding) {
	for labelled := range flow.All(v, all.endpointSlices) {
		list = append(list, all.ignoredFindings(v, labelled)...)
	}
	return list
}

// NewlyIgnoredSlices are those about what the edits of a Try touch; v is its View.
func (all *Backends) NewlyIgnoredSlices(v flow.View) (list []model.Finding) {
	touched := map[model.ObjectRef]bool{}
	for change := range flow.StagedChanges(v, all.endpointSlices) {
		touched[change.Key] = true
	}
	for _, k := range all.kinds {
		if stating, is := k.meaning.(portsStating); is {
			for ref := range stating.statedPorts().staged(v) {
				touched[asLabel(ref)] = true
			}
		}
	}
	for labelled := range touched {
		list = append(list, all.ignoredFindings(v, labelled)...)
	}
	return list
}

// asLabel is a backend with its name as a label can hold it.
func asLabel(backend model.ObjectRef) model.ObjectRef {
	return model.Ref(backend.Kind(), backend.Namespace(), model.LabelValue(backend.Name()))
}

// ignoredFindings is about the slices with one label. It says nothing of Services: a cluster may have slices for a
// moment before and after their Service, and they have the Service's ports.
func (all *Backends) ignoredFindings(v flow.View, labelled model.ObjectRef) (list []model.Finding) {
	kind := all.kinds[labelled.Kind()]
	stating, is := kind.meaning.(portsStating)
	if !is {
		return nil
	}
	stated := stating.statedPorts()
	ports, found := stated.of(v, labelled)
	if !found && all.isUnreadable(v, labelled, stated) {
		return nil // its own finding says so
	}
	members, _ := flow.Get(v, all.endpointSlices, labelled)
	label := fmt.Sprintf("metadata.labels[%s]", kind.declared.Backend.SliceLabel)
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
			f.Message = fmt.Sprintf("endpoints of %s can't be hostnames; use addresses (IPv4 or IPv6)", labelled)
		case others != "":
			f.Field = "ports"
			f.Message = fmt.Sprintf("%s states its own ports (%s), so %s has no effect; state it there, or leave it out "+
				"here", labelled, joinPorts(ports), others)
		default:
			continue
		}
		list = append(list, f)
	}
	return list
}

// isUnreadable tells whether a backend may be declared all the same: with a mistake, or with a name that is longer than
// a label's value, which the label has in another form.
func (all *Backends) isUnreadable(v flow.View, labelled model.ObjectRef, stated statedPorts) bool {
	if _, broken := flow.Get(v, all.in.Broken.Collection(), labelled); broken {
		return true
	}
	for ref := range stated.refs(v) {
		if asLabel(ref) == labelled {
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
	return joinPorts(others)
}

// joinPorts is "8000, 8001".
func joinPorts(ports []int32) string {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = strconv.Itoa(int(p))
	}
	return strings.Join(texts, ", ")
}

// portsStating is a Kind with objects that state the ports of their endpoints: ports of EndpointSlices don't
// count there.
type portsStating interface{ statedPorts() statedPorts }

// statedPorts looks up which ports objects state.
type statedPorts struct {
	of     func(flow.View, model.ObjectRef) (ports []int32, found bool)
	refs   func(flow.View) iter.Seq[model.ObjectRef]
	staged func(flow.View) iter.Seq[model.ObjectRef]
}

// statedIn looks them up in what was read of objects.
func statedIn[V any](all *flow.Collection[model.ObjectRef, V], ports func(V) []int32) statedPorts {
	return statedPorts{
		of: func(v flow.View, ref model.ObjectRef) ([]int32, bool) {
			o, found := flow.Get(v, all, ref)
			if !found {
				return nil, false
			}
			return ports(o), true
		},
		refs: func(v flow.View) iter.Seq[model.ObjectRef] {
			return func(yield func(model.ObjectRef) bool) {
				for ref := range flow.All(v, all) {
					if !yield(ref) {
						return
					}
				}
			}
		},
		staged: func(v flow.View) iter.Seq[model.ObjectRef] {
			return func(yield func(model.ObjectRef) bool) {
				for change := range flow.StagedChanges(v, all) {
					if !yield(change.Key) {
						return
					}
				}
			}
		},
	}
}
