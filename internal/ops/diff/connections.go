package diff

import (
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// changedConnections are connections of a Gateway that may go elsewhere: one for each domain of a route that differs,
// and for each port that does.
type changedConnections struct {
	gateway model.ObjectRef
	list    []request.Connection
}

// addConnections adds those of a route's place, as the listener was or is.
func (n *changedConnections) addConnections(l model.Listener, port model.Port, domains []model.Domain) {
	for _, address := range port.Addresses {
		for _, d := range domains {
			c := request.Connection{
				Address: address, Port: uint32(port.BindPort), Datagrams: l.Protocol.Carries(l.TLS) == model.Datagrams,
				TLS: l.Protocol.HasSNI(),
			}
			if c.TLS {
				c.SNI = request.HostOf(d.Name)
			}
			n.list = append(n.list, c)
		}
	}
}

// findConnections are the connections of routes and ports that the edits change or for which policies state something
// else, and of routes that lead to such a backend or one that moves, by Gateway. Those of filter chains that change are
// in changedListener.
func (d *Differ) findConnections(v flow.View, moves []backendMove) (list []changedConnections) {
	all := map[model.ObjectRef]*changedConnections{}
	of := func(gateway model.ObjectRef) *changedConnections {
		if all[gateway] == nil {
			all[gateway] = &changedConnections{gateway: gateway}
		}
		return all[gateway]
	}
	add := func(r model.Route, listener func(model.ListenerKey) (model.Listener, bool),
		port func(model.PortKey) (model.Port, bool)) {
		for _, place := range r.Listeners {
			l, found := listener(place.Listener)
			at, bound := port(l.Port)
			if place.Carries == "" || !found || !bound {
				continue
			}
			of(place.Gateway).addConnections(l, at, place.Domains)
		}
	}
	former := func(ref model.ObjectRef) {
		if was, existed := flow.ValueBefore(v, d.world.Plan.Routes, ref); existed {
			add(was,
				func(k model.ListenerKey) (model.Listener, bool) {
					return flow.ValueBefore(v, d.world.Plan.Listeners, k)
				},
				func(k model.PortKey) (model.Port, bool) { return flow.ValueBefore(v, d.world.Plan.Ports, k) })
		}
	}
	now := func(r model.Route) {
		add(r,
			func(k model.ListenerKey) (model.Listener, bool) { return flow.Get(v, d.world.Plan.Listeners, k) },
			func(k model.PortKey) (model.Port, bool) { return flow.Get(v, d.world.Plan.Ports, k) })
	}
	for change := range flow.StagedChanges(v, d.world.Plan.Routes) {
		former(change.Key)
		if !change.Deleted {
			now(change.Value)
		}
	}
	addPort := func(key model.PortKey) {
		was, _ := flow.ValueBefore(v, d.world.Plan.Ports, key)
		is, _ := flow.Get(v, d.world.Plan.Ports, key)
		for _, port := range []model.Port{was, is} {
			if carries := port.Protocol.Carries(""); carries != "" && !port.Protocol.HasSNI() {
				of(port.Key.Gateway).addConnections(model.Listener{Protocol: port.Protocol}, port,
					[]model.Domain{{Name: model.EveryHost}})
			}
		}
	}
	for change := range flow.StagedChanges(v, d.world.Plan.Ports) {
		addPort(change.Key)
	}
	for key := range changedKeys(v, d.world.Plan.Settings.Ports) {
		addPort(key)
	}
	for route := range changedKeys(v, d.world.Plan.Settings.Routes) {
		former(route)
		if r, there := flow.Get(v, d.world.Plan.Routes, route); there {
			now(r)
		}
	}
	usersOf := func(k plan.BackendKey) {
		routes, _ := flow.Get(v, d.world.Plan.RoutesByBackend, k)
		for _, r := range routes.All() {
			now(r)
		}
	}
	for _, m := range moves {
		usersOf(m.key)
	}
	for key := range changedKeys(v, d.world.Plan.Settings.Backends) {
		if key.Backend.Carries != "" {
			usersOf(key)
		}
	}
	for _, n := range all {
		list = append(list, *n)
	}
	return list
}

// changedKeys are the keys of settings that the edits change; none where no policies are known, and there are none.
func changedKeys[K comparable, V any](v flow.View, settings *flow.Collection[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		if settings == nil {
			return
		}
		for change := range flow.StagedChanges(v, settings) {
			if !yield(change.Key) {
				return
			}
		}
	}
}

// compareConnections asks both configurations what becomes of connections.
func (c *comparison) compareConnections(gateway string, before, after simulatedSide, list []request.Connection) {
	for _, n := range list {
		text := connectionText(n)
		key := fmt.Sprintf("%s %s at %s", gateway, text, n.Address) // the text may leave the address out
		if c.seen[key] {
			continue
		}
		c.seen[key] = true
		if c.budget <= 0 {
			c.report.Unasked++
			continue
		}
		c.budget--
		was, is := before.SimulateConnection(n), after.SimulateConnection(n)
		ranges := slices.Concat(was.SourceRanges, is.SourceRanges)
		if len(ranges) == 0 {
			c.reportConnection(gateway, text, before.describeConnection(was), after.describeConnection(is))
		}
		for _, n.Client = range request.ClientsOf(ranges) {
			was, is := before.SimulateConnection(n), after.SimulateConnection(n)
			c.reportConnection(gateway, text+" --client "+n.Client.String(), before.describeConnection(was),
				after.describeConnection(is))
		}
	}
}

// reportConnection adds a connection if it goes elsewhere. At several addresses of a Gateway, the same may happen.
func (c *comparison) reportConnection(gateway, text string, was, is outcomeWords) {
	one := Request{Request: text, Gateway: gateway, Before: was.String(), After: is.String()}
	if !slices.EqualFunc(was, is, slices.Equal) && !slices.Contains(c.report.Connections, one) {
		c.report.Connections = append(c.report.Connections, one)
	}
}

// connectionText is a connection as `cardea explain` takes it from a shell.
func connectionText(n request.Connection) string {
	scheme, host := "tcp", n.Address
	switch {
	case n.Datagrams:
		scheme = "udp"
	case n.TLS:
		scheme, host = "tls", n.SNI
	}
	return shellQuote(scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(n.Port))))
}

// describeConnection tells who gets a connection.
func (s simulatedSide) describeConnection(r request.Result) (told outcomeWords) {
	switch {
	case r.Mismatch:
		return outcomeWords{{"the listener decides request by request"}}
	case r.Closed != "":
		return outcomeWords{{"closed: " + r.Closed}}
	}
	for _, o := range r.Outcomes {
		who := s.nameBackend(o.Backend)
		if o.Closed != "" {
			who = "closed: " + o.Closed
		}
		if o.Share < 1 {
			who = fmt.Sprintf("%.3g%% %s", 100*o.Share, who)
		}
		told = append(told, []string{who})
	}
	if certificates := describeCertificates(r); certificates != "" {
		told = told.withWord(certificates)
	}
	return told
}

// findEnds tells which open connections an edit of a listener's configuration ends: a proxy lets go of those of a
// filter chain that changes, and of all of a listener that changes as a whole. Requests are not concerned: a proxy asks
// their clients to connect again.
func (d *Differ) findEnds(v flow.View, key resource.Key, was, is resource.Resource) (list []string) {
	whole := !slices.Equal(was.Binds, is.Binds)
	for _, p := range was.Parts {
		whole = whole || p.ID == "" && !hasPart(is.Parts, p)
	}
	for _, p := range was.Parts {
		if !whole && hasPart(is.Parts, p) {
			continue
		}
		for _, f := range p.Fragments {
			l, found := flow.ValueBefore(v, d.world.Plan.Listeners, f.Origin.ListenerKey())
			carries := l.Protocol.Carries(l.TLS)
			if !found || carries == "" {
				continue
			}
			gateway, name := key.Gateway.NamespacedName(), l.Key.Describe(key.Gateway)
			text := fmt.Sprintf("%s: open connections of listener %s (port %d", gateway, name, l.Port.Number)
			switch {
			case carries == model.Datagrams:
				text = fmt.Sprintf("%s: all sessions of listener %s (port %d", gateway, name, l.Port.Number)
			case f.Variant != "" && f.Variant != model.EveryHost:
				text += ", " + f.Variant
			}
			if text += ")"; !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}
