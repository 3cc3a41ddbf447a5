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

// serving follows which addresses the proxies of each Gateway have bound. An address is bound when a listener of its
// port was acknowledged and none was refused for an address that can't be bound. It stays so while an edit of it is on
// its way: until no listener serves there any more.
type serving struct {
	world     *world.World
	gateways  *flow.Follower[model.ObjectRef, model.Gateway]
	ports     *flow.Follower[model.PortKey, model.Port]
	listeners *flow.Follower[resource.StandingKey, resource.Standing]

	byGateway map[model.ObjectRef]map[model.PortKey]model.Port
	bound     map[model.ObjectRef][]string // of those that began to serve; sorted
}

// served is what became of a Gateway or one of its addresses.
type served struct {
	what      event
	gateway   model.ObjectRef
	addresses []string
}

type event int

const (
	begins event = iota // the Gateway serves at these addresses
	ends                // it does not any more
	binds               // it serves at this one, too
	frees               // it does not serve there any more
)

func newServing(w *world.World) *serving {
	return &serving{
		world: w, gateways: flow.Follow(w.Plan.Gateways), ports: flow.Follow(w.Plan.Ports),
		listeners: flow.Follow(w.Outputs.Listeners),
		byGateway: map[model.ObjectRef]map[model.PortKey]model.Port{}, bound: map[model.ObjectRef][]string{},
	}
}

func (s *serving) stop() {
	s.gateways.Stop()
	s.ports.Stop()
	s.listeners.Stop()
}

// changes are those from the View of the last call up to v.
func (s *serving) changes(v flow.View) (list []served) {
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
		list = append(list, s.compare(ref, s.addresses(v, ref))...)
	}
	return list
}

// state is how far an address got.
type state struct {
	bound, refused bool
	undecided      bool // the proxy has not said anything of a listener there
}

// addresses are those that a Gateway is to serve at; nil if it is not served.
func (s *serving) addresses(v flow.View, ref model.ObjectRef) map[string]state {
	if _, is := flow.Get(v, s.world.Plan.Gateways, ref); !is {
		return nil
	}
	all := map[string]state{}
	for _, port := range s.byGateway[ref] {
		for _, ip := range port.Addresses {
			at, is := net.JoinHostPort(ip, strconv.Itoa(int(port.BindPort))), s.state(v, port)
			is.bound = is.bound && !is.refused || slices.Contains(s.bound[ref], at)
			all[at] = is
		}
	}
	return all
}

// state is what the proxies said of a port.
func (s *serving) state(v flow.View, port model.Port) (is state) {
	for _, l := range port.Listeners {
		if !l.Serves {
			continue
		}
		standing, _ := flow.Get(v, s.world.Outputs.Listeners, resource.StandingKey{
			Gateway: port.Key.Gateway, Origin: resource.Origin{Object: l.Key.Parent, Section: l.Key.Section},
		})
		is.bound = is.bound || standing.Acknowledged
		is.refused = is.refused || standing.Refused != "" && standing.Kind != resource.ContentRefused
		is.undecided = is.undecided || !standing.Acknowledged && standing.Refused == ""
	}
	return is
}

// compare says what changed for a Gateway. It begins to serve when it is known of all its addresses whether they can be
// bound.
func (s *serving) compare(ref model.ObjectRef, now map[string]state) (list []served) {
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
		list = append(list, served{begins, ref, bound})
	case now == nil:
		delete(s.bound, ref)
		return append(list, served{ends, ref, before})
	default:
		for _, at := range bound {
			if !slices.Contains(before, at) {
				list = append(list, served{binds, ref, []string{at}})
			}
		}
		for _, at := range before {
			if !slices.Contains(bound, at) {
				list = append(list, served{frees, ref, []string{at}})
			}
		}
	}
	s.bound[ref] = bound
	return list
}
