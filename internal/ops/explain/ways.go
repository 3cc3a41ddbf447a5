package explain

import (
	"cmp"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/policy"
)

// maxCandidates is how many Gateways that could take a request are asked whether they do.
const maxCandidates = 8

// gatewayCandidate is a request at one Gateway that has its port.
type gatewayCandidate struct {
	port      model.Port
	listeners []resource.Key     // of the port
	tables    [][]*resource.Part // of these
	rank      int                // how likely it takes the request, by hosts: the lowest first
	dialect   dataplane.Dialect  // of the Gateway's proxies
	catalog   *kind.Catalog
	parts     *resource.Excerpt // what decides about the request; nil if the Gateway is not asked
	gates     request.Gates     // of the features that it holds

	result request.Result
	tried  []request.RouteComparison // what the routes of the request's host miss
	hosts  []string                  // hosts that have routes, if that of the request has none
}

// The ranks of ways.
const (
	hasBoth     = iota // a listener and a virtual host for the request's host
	hasHost            // a virtual host
	hasListener        // a listener
	hasNeither
)

// findCandidates are the Gateways that have the request's port, as it is bound or else as they state it: the likeliest
// first. The ways that are to be asked have what decides, by reference.
func (q *inquiry) findCandidates(c parsedRequest, gateway string) []*gatewayCandidate {
	var bound, stated []*gatewayCandidate
	for _, port := range flow.All(q.view, q.world.Plan.Ports) {
		if port.Key.Transport != c.transport() || gateway != "" && port.Key.Gateway.NamespacedName() != gateway {
			continue
		}
		if port.BindPort == c.port {
			bound = append(bound, q.newCandidate(port))
		} else if port.Key.Number == c.port {
			stated = append(stated, q.newCandidate(port))
		}
	}
	list := bound
	if len(list) == 0 {
		list = stated
	}
	if len(list) == 0 {
		return nil
	}
	of := map[model.ObjectRef]*gatewayCandidate{} // a Gateway has a port of a transport once
	for _, w := range list {
		of[w.port.Key.Gateway] = w
	}
	for key, r := range q.world.Resources(q.view, func(r resource.Role) bool { return r == resource.Listening }) {
		if w := of[key.Gateway]; w != nil && bindsPort(r, w.port) {
			w.listeners = append(w.listeners, key)
		}
	}
	takers := resource.DomainPartIDs(c.normalizedHost())
	for _, w := range list {
		q.addTables(w)
		listener, listens := listenerOf(w.port, c)
		serves := listens && c.isConnection() && q.isServed(c, listener.Key)
		for _, parts := range w.tables {
			among := resource.SelectParts(parts, takers)
			serves = serves || slices.ContainsFunc(among, func(p *resource.Part) bool { return p.ID != "" })
		}
		switch {
		case listens && serves:
			w.rank = hasBoth
		case serves:
			w.rank = hasHost
		case listens:
			w.rank = hasListener
		default:
			w.rank = hasNeither
		}
	}
	slices.SortFunc(list, func(a, b *gatewayCandidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), a.port.Key.Gateway.Compare(b.port.Key.Gateway))
	})
	for i, w := range list {
		if i == 0 || i < maxCandidates && w.rank <= hasHost {
			q.takeExcerpt(w, takers)
		}
	}
	return list
}

func (q *inquiry) newCandidate(port model.Port) *gatewayCandidate {
	return &gatewayCandidate{port: port, dialect: q.world.Dialect(port.DataPlane), catalog: q.world.Sources.Catalog}
}

// bindsPort says whether a listener's resource is one of a port.
func bindsPort(r resource.Resource, port model.Port) bool {
	return slices.ContainsFunc(r.Binds, func(address string) bool {
		return strings.HasSuffix(address, ":"+strconv.Itoa(int(port.BindPort)))
	})
}

// addTables finds the route tables of a way.
func (q *inquiry) addTables(w *gatewayCandidate) {
	for _, key := range w.listeners {
		l, _ := q.findOffered(key)
		for _, p := range l.Parts {
			for _, n := range p.Needs {
				if w.dialect.Protocol.Types.Has(n.Type, resource.Routing) {
					table, _ := q.findOffered(resource.Key{Gateway: key.Gateway, Type: n.Type, Name: n.Name})
					w.tables = append(w.tables, table.Parts)
				}
			}
		}
	}
}

// takeExcerpt takes what decides about a way.
func (q *inquiry) takeExcerpt(w *gatewayCandidate, takers []string) {
	w.parts = resource.NewExcerpt(w.dialect.Protocol.Types)
	for _, key := range w.listeners {
		w.parts.AddResource(resource.Name{Type: key.Type, Name: key.Name}, takers, func(n resource.Name) (resource.Resource,
			bool) {
			needed := resource.Key{Gateway: key.Gateway, Type: n.Type, Name: n.Name}
			if r, offered := q.findOffered(needed); offered {
				return r, true
			}
			r, _ := q.findRendered(needed)
			return r, false
		})
	}
	w.gates = q.world.Policies.RequestGates(policy.Snapshot{View: q.view}, w.port.Key.Gateway, w.parts)
}

// chooseCandidate asks the ways, one after the other, until one takes the request. It is that one, or the first if none
// does.
func chooseCandidate(ways []*gatewayCandidate, c parsedRequest) (chosen *gatewayCandidate, err error) {
	var config, first request.Simulation
	for _, w := range ways {
		if w.parts == nil {
			continue
		}
		if config, err = w.dialect.Simulate(w.parts, w.gates); err != nil {
			return nil, err
		}
		if w.result = c.simulateAt(config, uint32(w.port.BindPort)); w.takesRequest() {
			chosen = w
			break
		}
		if first == nil {
			first = config
		}
	}
	if chosen == nil {
		chosen, config = ways[0], first
	}
	if c.isConnection() || chosen.result.Mismatch {
		return chosen, nil
	}
	r := c.Request
	r.Port = uint32(chosen.port.BindPort)
	chosen.tried = config.CompareRoutes(r)
	if r := chosen.result; r.Domain == "" && r.Closed == "" && r.Refused == "" && !r.Undecided {
		chosen.hosts = listHosts(chosen.tables, chosen.catalog)
	}
	return chosen, nil
}

// simulateAt asks a simulation the question, at a port as it is bound.
func (c parsedRequest) simulateAt(config request.Simulation, port uint32) request.Result {
	if c.isConnection() {
		return config.SimulateConnection(c.connection(port))
	}
	r := c.Request
	r.Port = port
	return config.SimulateRequest(r)
}

// takesRequest says whether a route takes the request, or the connection.
func (w *gatewayCandidate) takesRequest() bool {
	return slices.ContainsFunc(w.result.Outcomes, func(o request.Outcome) bool { return o.Rule != (model.RuleKey{}) })
}

// equalCandidates tells whether two lists of ways are answered alike.
func equalCandidates(a, b []*gatewayCandidate) bool {
	return slices.EqualFunc(a, b, func(a, b *gatewayCandidate) bool {
		return a.rank == b.rank && reflect.DeepEqual(a.port, b.port) && a.parts.Equal(b.parts)
	})
}

// normalizedHost is the name that a request asks for, as domains are compared with it.
func (c parsedRequest) normalizedHost() string {
	host := c.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// takingListener is the listener that takes the connection: it may be one that was kept, and has another hostname by
// now. It is false if no connection came about, or it is not a single listener's.
func (w *gatewayCandidate) takingListener() (found model.PortListener, ok bool) {
	i := slices.IndexFunc(w.port.Listeners, func(l model.PortListener) bool { return l.Key == w.result.Listener })
	if i < 0 {
		return found, false
	}
	return w.port.Listeners[i], true
}
