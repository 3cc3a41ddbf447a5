package envoy

import (
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// Listeners whose routes decide connection by connection have a filter chain for each domain. The filter that shares
// the connections among backends comes as a resource of its own (ECDS): an edit of a route's weights or backends closes
// no connection, which an edit of the chain would.

// connectionListener is what the domains of such a listener need of it.
type connectionListener struct {
	Gateway   model.ObjectRef
	Port      model.PortKey
	TLS       model.TLSMode
	Carries   model.Carried
	AccessLog string
}

// connectionListeners are all such listeners.
func connectionListeners(p plan.Plan) *flow.Collection[model.ListenerKey, connectionListener] {
	return flow.Map(p.Listeners, "envoy/connection-listeners",
		func(_ *flow.Ctx, _ model.ListenerKey, l model.Listener) (connectionListener, bool) {
			carries := l.Protocol.Carries(l.TLS)
			return connectionListener{l.Gateway, l.Port, l.TLS, carries, l.AccessLog},
				carries != "" && naming.IsEnvoy(l.DataPlane)
		})
}

// connectionRules are the rules for connections. They tell when one changed last: what it is rendered to changes with
// the endpoints of its backends, too.
func connectionRules(p plan.Plan) *flow.Collection[model.RuleKey, model.Rule] {
	return flow.Derive(p.Routes, "envoy/connection-rules-by-key",
		func(_ *flow.Ctx, _ model.ObjectRef, r model.Route, emit func(model.RuleKey, model.Rule)) {
			if !r.IsForConnections() {
				return
			}
			for _, rule := range r.Rules {
				emit(rule.Key, rule)
			}
		})
}

// connectionFilter is the filter of a domain.
type connectionFilter struct {
	Key  resource.Key
	Part *resource.Part
}

// newConnections adds the stages for them: the domains of each listener, and the filters of these.
func (s *stages) newConnections(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	listeners := s.connectionListeners
	rules := flow.Map(p.Domains, "envoy/connection-rules", // the first one alone gets connections
		func(c *flow.Ctx, k model.DomainKey, entries plan.RouteEntries) (model.RuleKey, bool) {
			l, found := flow.Fetch(c, listeners, k.Listener)
			first, _ := entries.At(0)
			return first.Rule, found && l.Carries != model.Datagrams
		})
	domains := flow.Map(rules, "envoy/connection-domains",
		func(*flow.Ctx, model.DomainKey, model.RuleKey) (struct{}, bool) { return struct{}{}, true })
	s.connectionDomains = flow.Group(domains, "envoy/connection-domains-by-listener",
		func(k model.DomainKey, _ struct{}) []model.ListenerKey { return []model.ListenerKey{k.Listener} }, flow.ByKey)
	s.connectionFilters = flow.Map(rules, "envoy/connection-filters",
		func(c *flow.Ctx, k model.DomainKey, key model.RuleKey) (f connectionFilter, some bool) {
			l, _ := flow.Fetch(c, listeners, k.Listener)
			rule, found := s.findOpenRule(c, key)
			stated := decodeListener(fetchOptional(c, p.Settings.Ports, l.Port))
			if l.TLS != "" {
				stated = decodeListener(fetchOptional(c, p.Settings.FilterChains, k.Listener))
			}
			return connectionFilter{connectionFilterKey(l.Gateway, k), connectionPart(l, rule, stated)}, found
		})
	byName := flow.Group(s.connectionFilters, "envoy/connection-filters-by-name",
		func(_ model.DomainKey, f connectionFilter) []resource.Key { return []resource.Key{f.Key} }, flow.ByKey)
	return flow.Map(byName, "envoy/connection-extensions",
		func(_ *flow.Ctx, key resource.Key, filters flow.Members[model.DomainKey, connectionFilter]) (resource.Resource,
			bool) {
			_, f := filters.At(0)
			return resource.JoinParts(extensionHead(key.Name, []*resource.Part{f.Part}), f.Part), true
		})
}

// findOpenRule finds a rule for connections. What policies state for such a rule closes it: then it has no backends.
func (s stages) findOpenRule(c *flow.Ctx, key model.RuleKey) (rule model.Rule, found bool) {
	rule, found = s.findRule(c, key)
	stated := fetchOptional(c, s.settings.Routes, key.Route)
	if slices.ContainsFunc(stated.Rules, func(of plan.RuleSettings) bool { return of.Rule == key }) {
		rule.Backends = nil
	}
	return rule, found
}

// connectionFilterKey names the filter of a domain.
func connectionFilterKey(gateway model.ObjectRef, k model.DomainKey) resource.Key {
	return resource.Key{Gateway: gateway, Type: xdstypes.Extension, Name: naming.ConnectionFilter(gateway, k)}
}

// nameOf is how other resources of its Gateway name a resource.
func nameOf(k resource.Key) resource.Name { return resource.Name{Type: k.Type, Name: k.Name} }

// connectionPart is the whole content of a filter. It has one ID for ever: parts of a resource with a head are kept
// while something may need them, and two configurations of one filter must not be joined.
func connectionPart(l connectionListener, rule model.Rule, stated listenerFields) *resource.Part {
	proxy := &tcpproxyv3.TcpProxy{
		StatPrefix:  strconv.Itoa(int(l.Port.Number)),
		IdleTimeout: durationpb.New(message.ConnectionIdleTimeout),
		AccessLog:   accessLogsOf(l.Gateway, l.Port.Number, l.AccessLog).own,
	}
	if l.TLS == model.TLSTerminate { // a client that never ends its handshake gets no connection to a backend
		proxy.UpstreamConnectMode = tcpproxyv3.UpstreamConnectMode_ON_DOWNSTREAM_TLS_HANDSHAKE
		proxy.MaxEarlyDataBytes = wrapperspb.UInt32(message.ConnectionBufferBytes)
	}
	overlayFields(proxy, new(tcpproxyv3.TcpProxy), stated.chain.Streams)
	clearFields(proxy, stated.chain.StreamsZero)
	shares := connectionShares(rule, l.Carries)
	weighted := &tcpproxyv3.TcpProxy_WeightedCluster{}
	needs := route.ClustersOf(stated.Uses)
	for _, share := range shares {
		weighted.Clusters = append(weighted.Clusters, &tcpproxyv3.TcpProxy_WeightedCluster_ClusterWeight{
			Name: share.cluster, Weight: share.weight,
		})
		if share.cluster != naming.InvalidCluster {
			needs = append(needs, resource.Name{Type: xdstypes.Cluster, Name: share.cluster})
		}
	}
	switch len(shares) {
	case 0:
		proxy.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: naming.InvalidCluster}
	case 1:
		proxy.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: shares[0].cluster}
	default:
		proxy.ClusterSpecifier = &tcpproxyv3.TcpProxy_WeightedClusters{WeightedClusters: weighted}
	}
	part := message.NewPart(connectionPartID, message.MustMarshal(proxy))
	part.Needs = needs
	part.Fragments = []resource.Fragment{{Origin: naming.RuleOrigin(rule.Key), Hash: part.Hash}}
	return part
}

// connectionFilterType is the type of such a filter's configuration.
const connectionFilterType = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"

// connectionPartID is the ID of the only part of a filter besides its head.
const connectionPartID = "connections"

// share is the share of a cluster, and of the backend that it is made of.
type share struct {
	cluster string
	backend model.BackendKey
	weight  uint32
}

// connectionShares are those of the backends that get some, by cluster. Connections for backends that can't be used go
// to a cluster that there is not, which closes them.
func connectionShares(rule model.Rule, carries model.Carried) (shares []share) {
	if rule.Error != 0 {
		return nil
	}
	for _, b := range rule.Backends {
		if b.Weight == 0 {
			continue
		}
		b.Backend.Carries = carries
		cluster := naming.Cluster(b.Backend)
		if b.Invalid {
			cluster = naming.InvalidCluster
		}
		if i := slices.IndexFunc(shares, func(s share) bool { return s.cluster == cluster }); i >= 0 {
			shares[i].weight += b.Weight
			continue
		}
		shares = append(shares, share{cluster, b.Backend, b.Weight})
	}
	return shares
}

// connectionChainFilter is the filter in a chain: it waits for its configuration.
func connectionChainFilter(gateway model.ObjectRef, k model.DomainKey) *listenerv3.Filter {
	return &listenerv3.Filter{
		Name: naming.ConnectionFilter(gateway, k),
		ConfigType: &listenerv3.Filter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
			ConfigSource: message.ADSConfigSource(),
			TypeUrls:     []string{connectionFilterType},
		}},
	}
}

// connectionChains are the filter chains of a TLS listener: one for each domain that a route serves, and one that
// closes the connections for the rest of its hostname. All listeners of the port have chains in one Listener, so names
// that rules state must leave alone those of the others.
func (s stages) connectionChains(
	c *flow.Ctx, l model.Listener, port model.Port, stated listenerFields,
) (parts []*resource.Part) {
	section, covered := naming.Section(l.Gateway, l.Key), false
	domains, _ := flow.Fetch(c, s.connectionDomains, l.Key)
	var taken []string
	for _, other := range port.Listeners {
		taken = append(taken, strings.ToLower(other.Hostname))
	}
	for k := range domains.All() {
		taken = append(taken, strings.ToLower(hostnameOf(k)))
	}
	for k := range domains.All() {
		hostname := hostnameOf(k)
		covered = covered || hostname == l.Hostname
		chain := &listenerv3.FilterChain{
			Name: section + "/" + k.Name, Filters: []*listenerv3.Filter{connectionChainFilter(l.Gateway, k)},
		}
		if l.TLS == model.TLSTerminate {
			chain.TransportSocket = terminateTLS(l, stated)
			chain.TransportSocketConnectTimeout = durationpb.New(message.HandshakeTimeout)
		}
		overlayChain(chain, stated)
		part := dividedChainPart(chain, stated.chain.Access, strings.ToLower(hostname), taken)
		part.Fragments = []resource.Fragment{{Origin: naming.ListenerOrigin(l.Key), Variant: k.Name, Hash: part.Hash}}
		if !stated.Closed {
			part.Needs = []resource.Name{nameOf(connectionFilterKey(l.Gateway, k))}
		}
		part.Needs = append(part.Needs, terminationNeeds(l, stated)...)
		if _, refused := flow.Fetch(c, s.refused, refusalKeyOf(l.Gateway, part.Fragments[0])); refused {
			part = substituteChain(chain.Name, hostname, part)
		}
		parts = append(parts, part)
	}
	if !covered {
		closing := closingChain(section, l.Hostname)
		closing.Fragments = []resource.Fragment{{Origin: naming.ListenerOrigin(l.Key), Hash: closing.Hash}}
		parts = append(parts, closing)
	}
	return parts
}

// hostnameOf is the name by which connections get to a domain; "": by any.
func hostnameOf(k model.DomainKey) string {
	if k.Name == model.EveryHost {
		return ""
	}
	return k.Name
}

// dividedChainPart has the filter chains of a domain: one, unless rules say which connections are taken. Others are all
// names that lead to chains of the port.
func dividedChainPart(
	chain *listenerv3.FilterChain, rules accessRules, domain string, others []string,
) *resource.Part {
	if len(rules) == 0 {
		return filterChainPart(chain, domain)
	}
	var chains [][]byte
	var claims []string
	for i, name := range rules.namesBelow(domain, others) {
		own := proto.CloneOf(chain)
		if i > 0 {
			own.Name += " " + name
		}
		for _, divided := range rules.divideChain(own, name) {
			chains = append(chains, message.EncodeField(filterChainsField, message.MustMarshal(divided)))
		}
		claims = append(claims, name)
	}
	all := message.NewPart(chainPrefix+chain.Name, chains...)
	all.Claims = claims
	return all
}

// terminationNeeds are the secrets by which a listener terminates TLS.
func terminationNeeds(l model.Listener, stated listenerFields) (needs []resource.Name) {
	for _, ref := range l.Certificates {
		needs = append(needs, resource.Name{Type: xdstypes.Secret, Name: naming.Secret(ref)})
	}
	if asksClientCertificates(l, stated) {
		needs = append(needs, resource.Name{Type: xdstypes.Secret, Name: clientValidationName(l, stated)})
	}
	return needs
}

// connectionContent is what a rule was rendered to at a place with connections, and the resource that has it; false: it
// gets no connection of the domain.
func (s stages) connectionContent(c *flow.Ctx, l connectionListener, k model.DomainKey, rule model.RuleKey) (
	in resource.Key, content resource.Fragment, some bool,
) {
	var part *resource.Part
	if l.Carries == model.Datagrams {
		in = resource.Key{Gateway: l.Gateway, Type: xdstypes.Endpoints, Name: naming.DatagramCluster(l.Gateway, k.Listener)}
		r, _ := flow.Fetch(c, s.datagramEndpoints, in)
		part = resource.FindPart(r.Parts, "")
	} else {
		f, _ := flow.Fetch(c, s.connectionFilters, k)
		in, part = f.Key, f.Part
	}
	if part == nil || len(part.Fragments) == 0 || part.Fragments[0].Origin != naming.RuleOrigin(rule) {
		return in, content, false
	}
	return in, part.Fragments[0], true
}

// addConnections has a TCP listener take connections, if a route serves it. No listener filter stands before: it would
// wait for the client's first bytes, and some protocols have the server speak first.
func (s stages) addConnections(c *flow.Ctx, l *listenerv3.Listener, port model.Port, stated listenerFields) (
	needs []resource.Name,
) {
	l.DefaultFilterChain = &listenerv3.FilterChain{Name: "tcp"}
	listener, found := servingListener(port)
	if !found {
		return nil
	}
	k := model.DomainKey{Listener: listener, Name: model.EveryHost}
	if domains, _ := flow.Fetch(c, s.connectionDomains, k.Listener); domains.Len() > 0 {
		l.DefaultFilterChain.Filters = []*listenerv3.Filter{connectionChainFilter(port.Key.Gateway, k)}
		needs = []resource.Name{nameOf(connectionFilterKey(port.Key.Gateway, k))}
	}
	overlayChain(l.DefaultFilterChain, stated)
	if len(l.DefaultFilterChain.Filters) == 0 {
		return nil
	}
	if rules := stated.chain.Access; len(rules) > 0 {
		chains := rules.divideChain(l.DefaultFilterChain, "")
		l.DefaultFilterChain, l.FilterChains = chains[0], chains[1:]
	}
	return needs
}
