package standalone

import (
	"maps"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// servingFollower follows which addresses the proxies of each Gateway have bound. An address is bound when a listener
// of its port was acknowledged and none was refused for an address that can't be bound. It stays so while an edit of it
// is on its way: until no listener serves there any more.
type servingFollower struct {
	world     *world.World
	gateways  *flow.Follower[model.ObjectRef, model.Gateway]
	ports     *flow.Follower[model.PortKey, model.Port]
	listeners *flow.Follower[resource.AckStateKey, resource.AckState]

	byGateway map[model.ObjectRef]map[model.PortKey]model.Port
	bound     map[model.ObjectRef][]string // of those that began to serve; sorted
}

// servingChange is what became of a Gateway or one of its addresses.
type servingChange struct {
	what      changeKind
	ref       model.ObjectRef
	addresses []string
}

type changeKind int

const (
	gatewayBegins changeKind = iota // the Gateway serves at these addresses
	gatewayEnds                     // it does not any more
	addressBound                    // it serves at this one, too
	addressFreed                    // it does not serve there any more
)

func newServingFollower(w *world.World) *servingFollower {
	return &servingFollower{
		world: w, gateways: flow.Follow(w.Plan.Gateways), ports: flow.Follow(w.Plan.Ports),
		listeners: flow.Follow(w.Outputs.Listeners),
		byGateway: map[model.ObjectRef]map[model.PortKey]model.Port{}, bound: map[model.ObjectRef][]string{},
	}
}

func (s *servingFollower) stopFollowing() {
	s.gateways.Stop()
	s.ports.Stop()
	s.listeners.Stop()
}

// takeChanges are those from the View of the last call up to v.
func (s *servingFollower) takeChanges(v flow.View) (list []servingChange) {
	changed := map[model.ObjectRef]struct{}{}
	for change := range s.gateways.Changes(v) {
		changed[change.Key] = struct{}{}
	}
	for change := range s.ports.Changes(v) {
		ref := change.Key.Gateway
		changed[ref] = struct{}{}
		switch {
		case !change.Deleted && s.byGateway[ref] == nil:
			s.byGateway[ref] = map[model.PortKey]model.Port{change.Key: change.Value}
		case !change.Deleted:
			s.byGateway[ref][change.Key] = change.Value
		default:
			if delete(s.byGateway[ref], change.Key); len(s.byGateway[ref]) == 0 {
				delete(s.byGateway, ref)
			}
		}
	}
	for change := range s.listeners.Changes(v) {
		changed[change.Key.Gateway] = struct{}{}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(changed), model.ObjectRef.Compare) {
		list = append(list, s.compareAddresses(ref, s.addressStates(v, ref))...)
	}
	return list
}

// addressState is how far an address got.
type addressState struct {
	bound, refused bool
	undecided      bool // the proxy has not said anything of a listener there
}

// addressStates are those that a Gateway is to serve at; nil if it is not served.
func (s *servingFollower) addressStates(v flow.View, ref model.ObjectRef) map[string]addressState {
	if _, is := flow.Get(v, s.world.Plan.Gateways, ref); !is {
		return nil
	}
	all := map[string]addressState{}
	for _, port := range s.byGateway[ref] {
		for _, ip := range port.Addresses {
			at, is := net.JoinHostPort(ip, strconv.Itoa(int(port.BindPort))), s.portState(v, port)
			is.bound = is.bound && !is.refused || slices.Contains(s.bound[ref], at)
			all[at] = is
		}
	}
	return all
}

// portState is what the proxies said of a port.
func (s *servingFollower) portState(v flow.View, port model.Port) (is addressState) {
	for _, l := range port.Listeners {
		if !l.Serves {
			continue
		}
		standing, _ := flow.Get(v, s.world.Outputs.Listeners, resource.AckStateKey{
			Gateway: port.Key.Gateway, Origin: resource.Origin{Object: l.Key.Parent, Section: l.Key.Section},
		})
		is.bound = is.bound || standing.Acknowledged
		is.refused = is.refused || standing.Refused != "" && standing.Kind != resource.ContentRefused
		is.undecided = is.undecided || !standing.Acknowledged && standing.Refused == ""
	}
	return is
}

// compareAddresses says what changed for a Gateway. It begins to serve when it is known of all its addresses whether
// they can be bound.
func (s *servingFollower) compareAddresses(ref model.ObjectRef, now map[string]addressState) (list []servingChange) {
	var bound []string
	undecided := false
	for at, is := range now {
		if undecided = undecided || is.undecided; is.bound {
			bound = append(bound, at)
		}
	}
	slices.Sort(bound)
	before, began := s.bound[ref]
	switch {
	case !began && (undecided || len(bound) == 0):
		return nil
	case !began:
		list = append(list, servingChange{gatewayBegins, ref, bound})
	case now == nil:
		delete(s.bound, ref)
		return append(list, servingChange{gatewayEnds, ref, before})
	default:
		for _, at := range bound {
			if !slices.Contains(before, at) {
				list = append(list, servingChange{addressBound, ref, []string{at}})
			}
		}
		for _, at := range before {
			if !slices.Contains(bound, at) {
				list = append(list, servingChange{addressFreed, ref, []string{at}})
			}
		}
	}
	s.bound[ref] = bound
	return list
}
