package explain

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/translate/route"
)

// The schemes of URLs that ask about a connection: its first bytes are the client's own, a TLS handshake, or it is a
// session of datagrams.
const (
	schemeTCP = "tcp"
	schemeTLS = "tls"
	schemeUDP = "udp"
)

// isConnection tells whether the question is about a connection, and not about a request.
func (c parsedRequest) isConnection() bool {
	return c.scheme == schemeTCP || c.scheme == schemeTLS || c.scheme == schemeUDP
}

// transport is that of the port.
func (c parsedRequest) transport() model.Transport {
	if c.scheme == schemeUDP {
		return model.TransportUDP
	}
	return model.TransportTCP
}

// portWords name a port: "port 80", "UDP port 53".
func portWords(number int32, transport model.Transport) string {
	if transport == model.TransportUDP {
		return fmt.Sprintf("UDP port %d", number)
	}
	return fmt.Sprintf("port %d", number)
}

// connection is the connection that is asked about, at a port as it is bound.
func (c parsedRequest) connection(port uint32) request.Connection {
	return request.Connection{
		Port: port, Client: c.client, Datagrams: c.scheme == schemeUDP, TLS: c.TLS, SNI: c.SNI,
	}
}

// parseConnection makes a question a connection, as a client would begin it. rest is what follows host and port.
func (q Question) parseConnection(u *url.URL, rest string) (parsedRequest, error) {
	c := parsedRequest{scheme: u.Scheme, text: q.URL}
	c.TLS, c.Host = u.Scheme == schemeTLS, sentHost(u.Hostname())
	switch {
	case rest != "" && rest != "/":
		return c, fmt.Errorf("%q: a connection has no path: end the URL after host and port", q.URL)
	case q.Method != "" || len(q.Headers) > 0 || q.Body != "" || q.Agent != nil:
		return c, fmt.Errorf("%q: a connection has no method, header or body: ask with http:// or https:// about a request",
			q.URL)
	case q.SNI != "" && !c.TLS:
		return c, fmt.Errorf("%q: only TLS has a server name: ask with tls:// and --sni", q.URL)
	case u.Port() == "" && !c.TLS:
		return c, fmt.Errorf("%q: state the port, such as %s://%s:9000", q.URL, u.Scheme, u.Host)
	}
	if c.port = 443; u.Port() != "" {
		var err error
		if c.port, err = parsePort(u.Port()); err != nil {
			return c, err
		}
	}
	if c.TLS {
		c.SNI = sentServerName(q.SNI, c.Host)
	}
	if q.Client != "" {
		var err error
		if c.client, err = netip.ParseAddr(q.Client); err != nil {
			return c, fmt.Errorf("--client %q: want an IP address", q.Client)
		}
	}
	return c, nil
}

// sentServerName is the server name that a client sends which was told one, or else by the host of its URL.
func sentServerName(told, host string) string {
	if told == "" && net.ParseIP(host) != nil {
		return ""
	}
	return cmp.Or(told, host)
}

func parsePort(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q: want a port from 1 to 65535", text)
	}
	return int32(n), nil
}

var errNoURL = errors.New("want a whole URL, such as http://shop.example/cart or tcp://shop.example:9000, or KIND/NAME")

// explainMismatch tells of a question that is not of the sort that a listener takes what the listener is, and how to
// ask; "": it is of that sort.
func (c parsedRequest) explainMismatch(l model.Listener) string {
	takes := "takes requests only"
	scheme := strings.ToLower(string(l.Protocol))
	carries := l.Protocol.Carries(l.TLS)
	switch {
	case l.Protocol == "" || !c.isConnection() && carries == "":
		return ""
	case !c.isConnection():
		takes = "reads no requests"
	case carries == "":
	case c.scheme == schemeTCP && l.Protocol == model.TLS:
		takes = "takes connections that begin with a TLS handshake"
	default:
		return ""
	}
	host := c.normalizedHost()
	if l.Protocol.HasSNI() && !model.DomainCovers(model.HostnameDomain(l.Hostname), host) {
		host = request.HostOf(l.Hostname)
	}
	ask := fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, strconv.Itoa(int(c.port))))
	if carries == "" {
		ask += "/"
	}
	return fmt.Sprintf("listener %s has the protocol %s, so it %s: ask with %s", l.Key.Describe(l.Gateway), l.Protocol,
		takes, ask)
}

// otherTransports tells which Gateways have a port of the number for another transport.
func (q *inquiry) otherTransports(c parsedRequest, gateway string) (notes []string) {
	scheme := schemeUDP
	if c.transport() == model.TransportUDP {
		scheme = schemeTCP
	}
	for _, p := range flow.All(q.view, q.world.Plan.Ports) {
		of := p.Key.Gateway.NamespacedName()
		if p.Key.Transport == c.transport() || gateway != "" && gateway != of || len(notes) == maxNear ||
			p.BindPort != c.port && p.Key.Number != c.port {
			continue
		}
		notes = append(notes, fmt.Sprintf("Gateway %s has this port for %s: ask with %s://%s", of, p.Key.Transport, scheme,
			net.JoinHostPort(c.normalizedHost(), strconv.Itoa(int(c.port)))))
	}
	slices.Sort(notes)
	return notes
}

// isServed tells whether a route serves connections like this one at a listener.
func (q *inquiry) isServed(c parsedRequest, l model.ListenerKey) bool {
	return len(q.listTakers(c, l)) > 0
}

// taker is what would get a connection if nothing came before it.
type taker struct {
	domain string
	entry  model.RouteEntryKey
}

// listTakers are the rules that take a connection at a listener, in their order: the first one gets it.
func (q *inquiry) listTakers(c parsedRequest, k model.ListenerKey) (list []taker) {
	l, _ := flow.Get(q.view, q.world.Plan.Listeners, k)
	domains := []string{model.EveryHost}
	if l.Protocol.HasSNI() && c.SNI != "" {
		host := c.serverName()
		domains = append([]string{host}, model.WiderDomains(host, l.Hostname)...)
	}
	for _, domain := range domains {
		entries, _ := flow.Get(q.view, q.world.Plan.Domains, model.DomainKey{Listener: k, Name: domain})
		for entry := range entries.All() {
			list = append(list, taker{domain, entry})
		}
	}
	return list
}

// serverName is the name that clients ask for, as domains are compared with it.
func (c parsedRequest) serverName() string { return strings.TrimSuffix(strings.ToLower(c.SNI), ".") }

// explainClosed is why a connection ends at a listener: said is what the simulation says.
func (q *inquiry) explainClosed(
	c parsedRequest, gateway model.ObjectRef, l model.PortListener, found bool, said string,
) string {
	with := "without a server name (SNI)"
	if c.SNI != "" {
		with = "with the server name " + c.SNI
	}
	switch {
	case !found && c.TLS:
		return "no listener of the port takes connections " + with
	case !found || !l.Serves || q.isServed(c, l.Key):
		return said
	case c.TLS:
		return fmt.Sprintf("no route of listener %s takes connections %s", l.Key.Describe(gateway), with)
	}
	return fmt.Sprintf("listener %s has no route", l.Key.Describe(gateway))
}

// findNearRoutes are the routes that a user might expect to get a connection, and why each does not: those that take
// it, too, and those that name the listener and take no such connection.
func (q *inquiry) findNearRoutes(w *gatewayCandidate, l model.PortListener, c parsedRequest) (near []NearMiss) {
	listener, found := flow.Get(q.view, q.world.Plan.Listeners, l.Key)
	if !found {
		return nil
	}
	told := map[model.ObjectRef]bool{}
	add := func(rule model.RuleKey, why string) {
		if len(near) == maxNear || told[rule.Route] {
			return
		}
		told[rule.Route] = true
		miss := NearMiss{Object: rule.Route.String(), Rule: rule.Name, Why: why, Where: q.locate(rule.Route, "")}
		if place, found := q.findRule(rule); found && rule.Name != "" {
			miss.Where = q.locate(rule.Route, place.rule.FieldPath())
		}
		near = append(near, miss)
	}
	takers := q.listTakers(c, l.Key)
	for i, t := range takers {
		if i == 0 {
			told[t.entry.Rule.Route] = true
		} else {
			add(t.entry.Rule, q.explainLaterRoute(takers[0], t))
		}
	}
	for _, other := range w.port.Listeners {
		if other.Key == l.Key || !model.DomainCovers(model.HostnameDomain(other.Hostname), c.serverName()) {
			continue
		}
		for _, t := range q.listTakers(c, other.Key) {
			add(t.entry.Rule, fmt.Sprintf("it serves at listener %s; listener %s has the more specific hostname %s",
				other.Key.Describe(listener.Gateway), l.Key.Describe(listener.Gateway), model.HostnameDomain(l.Hostname)))
		}
	}
	for _, k := range q.world.Sources.Catalog.Routes() {
		if k.Route.ForHTTP() || !k.Route.AttachesTo(listener.Protocol, listener.TLS) {
			continue
		}
		for _, ref := range q.world.Sources.KindSource(k.Kind).ListRefs(q.view) {
			o, _ := q.world.Sources.KindSource(k.Kind).Get(q.view, ref)
			spec := k.Route.Spec(o.Spec)
			for _, p := range spec.ParentRefs {
				if !told[ref] && namesListener(route.ParentRef(ref, p), listener) {
					add(model.RuleKey{Route: ref}, q.explainNoTaker(ref, listener, c))
				}
			}
		}
	}
	return near
}

// explainLaterRoute is why a rule gets none of the connections that another one gets, though it takes them.
func (q *inquiry) explainLaterRoute(first, later taker) string {
	winner, loser := first.entry.Rule.Route, later.entry.Rule.Route
	what := "hostname"
	if first.domain == model.EveryHost {
		what = "listener"
	}
	a, _ := flow.Get(q.view, q.world.Plan.Routes, winner)
	b, _ := flow.Get(q.view, q.world.Plan.Routes, loser)
	older := !a.Created.IsZero() && (b.Created.IsZero() || a.Created.Before(b.Created))
	switch {
	case first.domain != later.domain:
		return fmt.Sprintf("it takes %s; %s is more specific", later.domain, first.domain)
	case older:
		return fmt.Sprintf("an older route has this %s: %s", what, winner)
	}
	return fmt.Sprintf("another route has this %s, and its name comes first: %s", what, winner)
}

// explainNoTaker is why a route that names a listener takes no such connection of it.
func (q *inquiry) explainNoTaker(ref model.ObjectRef, l model.Listener, c parsedRequest) string {
	r, _ := flow.Get(q.view, q.world.Plan.Routes, ref)
	at := slices.IndexFunc(r.Listeners, func(p model.RouteListener) bool { return p.Listener == l.Key })
	if at >= 0 {
		var names []string
		for _, d := range r.Listeners[at].Domains {
			names = append(names, d.Name)
		}
		if c.SNI == "" {
			return "the client names no server (SNI), want " + model.JoinSome(names)
		}
		return fmt.Sprintf("the server name is %s, want %s", c.SNI, model.JoinSome(names))
	}
	for _, f := range q.world.FindingsIn(q.view, ref) {
		if f.Severity == model.Error && f.Condition == "Accepted" {
			return "it is not attached: " + f.Message
		}
	}
	return "it is not attached"
}

// namesListener tells whether a parentRef leads to a listener, whether that takes the route or not.
func namesListener(p model.ParentRef, l model.Listener) bool {
	of := l.Key.Parent
	return p.Kind == of.Kind().String() && p.Namespace == of.Namespace() && p.Name == of.Name() &&
		(p.Section == "" || p.Section == l.Key.Section) && (p.Port == 0 || p.Port == l.Port.Number)
}

// describeTaken tells which connections a rule takes.
func (c parsedRequest) describeTaken(domain string) string {
	switch {
	case c.scheme == schemeUDP:
		return "every datagram of the listener"
	case domain == model.EveryHost:
		return "every connection of the listener"
	}
	return "connections to " + domain
}

// describeLost tells what becomes of a share that no backend gets.
func (c parsedRequest) describeLost(o request.Outcome) string {
	switch {
	case c.scheme == schemeUDP:
		return "dropped, as no backend of this share can get it"
	case o.Unresolved:
		return "closed, as no backend of this share can get it"
	}
	return "closed, as " + o.Closed
}

// connectionPolicies are those in force for the connections of a listener.
func (q *inquiry) connectionPolicies(k model.ListenerKey) (list []Policy) {
	for _, p := range q.world.Policies.PiecesAtListener(q.policySnapshot(), k) {
		list = append(list, q.describeFeature(p)...)
	}
	return list
}
