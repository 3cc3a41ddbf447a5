package standalone

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// boundAddress is an address that a Gateway's proxy binds for some listeners. All proxies share this machine's
// addresses.
type boundAddress struct {
	key       model.PortKey
	address   netip.Addr
	port      int32
	listeners []model.PortListener
}

// String is "127.0.0.1:80".
func (b boundAddress) String() string {
	return net.JoinHostPort(b.address.String(), strconv.Itoa(int(b.port)))
}

// conflictsWith reports whether only one of two addresses can be bound: they are equal, or one of them means every
// address of the other's family.
func (b boundAddress) conflictsWith(o boundAddress) bool {
	if b.port != o.port || b.key.Transport != o.key.Transport || b.address.Is4() != o.address.Is4() {
		return false
	}
	return b.address == o.address || b.address.IsUnspecified() || o.address.IsUnspecified()
}

// bindsOf lists what the served ListGateways bind, in the order in which their proxies are started.
func bindsOf(v flow.View, w *world.World) []boundAddress {
	var list []boundAddress
	for key, port := range flow.All(v, w.Plan.Ports) {
		if _, served := flow.Get(v, w.Plan.Gateways, key.Gateway); !served {
			continue
		}
		for _, text := range port.Addresses {
			if address, err := netip.ParseAddr(text); err == nil { // it was parsed before, so it is valid
				list = append(list, boundAddress{key, address.Unmap(), port.BindPort, port.Listeners})
			}
		}
	}
	slices.SortFunc(list, func(a, b boundAddress) int {
		return cmp.Or(a.key.Gateway.Compare(b.key.Gateway), a.address.Compare(b.address), cmp.Compare(a.port, b.port))
	})
	return list
}

// findConflicts predicts what the proxies will report: if listeners want the same address and port, those of the first
// Gateway get it. The findings are those that status would have.
func findConflicts(w *world.World) (list []model.Finding) {
	w.Graph.View(func(v flow.View) { list = conflictsOf(v, w, bindsOf(v, w)) })
	return list
}

// newConflicts predicts what the proxies would report after the edits of a Try; v is its View. Addresses that are bound
// already stay with their ListGateways.
func newConflicts(w *world.World) func(v flow.View) []model.Finding {
	return func(v flow.View) []model.Finding {
		edited := map[model.PortKey]bool{}
		for change := range flow.StagedChanges(v, w.Plan.Ports) {
			before, existed := flow.ValueBefore(v, w.Plan.Ports, change.Key)
			if !existed || before.BindPort != change.Value.BindPort || !slices.Equal(before.Addresses, change.Value.Addresses) {
				edited[change.Key] = true
			}
		}
		if len(edited) == 0 {
			return nil
		}
		old, late := []boundAddress{}, []boundAddress{}
		for _, b := range bindsOf(v, w) {
			if edited[b.key] {
				late = append(late, b)
			} else {
				old = append(old, b)
			}
		}
		return slices.DeleteFunc(conflictsOf(v, w, append(old, late...)), func(f model.Finding) bool {
			return !slices.ContainsFunc(late, func(b boundAddress) bool {
				return slices.ContainsFunc(b.listeners, func(l model.PortListener) bool { return l.Key.Parent == f.Object })
			})
		})
	}
}

// conflictsOf predicts it for ListGateways that bind in this order.
func conflictsOf(v flow.View, w *world.World, binds []boundAddress) (list []model.Finding) {
	var bound []boundAddress
	for _, late := range binds {
		first := slices.IndexFunc(bound, late.conflictsWith)
		if first < 0 {
			bound = append(bound, late)
			continue
		}
		for _, l := range late.listeners {
			if !l.Serves {
				continue
			}
			list = append(list, model.Finding{
				Object: l.Key.Parent, Section: l.Key.Section, Condition: "Accepted", Reason: "PortUnavailable",
				Field: portField(v, w, l.Key),
				Message: fmt.Sprintf("%s can't be bound: %s binds %s; give one of them another port, or its own address "+
					"(spec.addresses)",
					late, bound[first].key.Gateway, bound[first]),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b model.Finding) int {
		return cmp.Or(a.Object.Compare(b.Object), strings.Compare(a.Field, b.Field))
	})
	return list
}

// portField is the field that has a listener's port.
func portField(v flow.View, w *world.World, l model.ListenerKey) string {
	for i, own := range w.Sources.ListenersOf(v, l.Parent) {
		if string(own.Name) == l.Section {
			return fmt.Sprintf("spec.listeners[%d].port", i)
		}
	}
	return ""
}
