package envoy

import (
	"net"
	"slices"
	"strconv"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
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

// filterChainsField is Listener.filter_chains.
const filterChainsField = 3

// listenerResources has a Listener for each address of a port: a part of its own, and where clients ask for a server
// name, filter chains for each listener that shares the port. Envoy can't change the addresses of a Listener that is
// live, and one that is taken must not keep the others from serving.
func (s stages) listenerResources(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	chains := flow.Map(p.Listeners, "envoy/filter-chains",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) ([]*resource.Part, bool) {
			if !l.Protocol.HasSNI() || !naming.IsEnvoy(l.DataPlane) {
				return nil, false
			}
			stated := decodeListener(fetchOptional(c, p.Settings.FilterChains, k))
			if l.Protocol == model.TLS {
				port, _ := flow.Fetch(c, p.Ports, l.Port)
				return s.connectionChains(c, l, port, stated), true
			}
			chain := chainPart(l, stated)
			if _, refused := flow.Fetch(c, s.refused, refusalKeyOf(l.Gateway, chain.Fragments[0])); refused {
				chain = substituteChain(naming.Section(l.Gateway, l.Key), l.Hostname, chain)
			}
			return []*resource.Part{chain}, true
		})
	ports := flow.Group(p.Ports, "envoy/ports", func(k model.PortKey, port model.Port) []resource.Key {
		if !naming.CanServe(port.DataPlane, port.Protocol, k.Transport) {
			return nil
		}
		return listenerKeys(port)
	}, flow.ByKey)
	return flow.Map(ports, "envoy/listeners",
		func(c *flow.Ctx, key resource.Key, ports flow.Members[model.PortKey, model.Port]) (resource.Resource, bool) {
			k, port := ports.At(0)
			address := port.Addresses[slices.Index(listenerKeys(port), key)]
			parts := []*resource.Part{s.addressPart(c, port, address,
				decodeListener(fetchOptional(c, p.Settings.Ports, k)))}
			refused := map[string]bool{} // Envoy wants each name once
			for _, l := range port.Listeners {
				if l.Serves {
					own, _ := flow.Fetch(c, chains, l.Key)
					parts = append(parts, own...)
				} else if host := strings.ToLower(l.Hostname); port.Protocol.HasSNI() && host != "" && !refused[host] {
					refused[host] = true
					parts = append(parts, closingChain(naming.Section(k.Gateway, l.Key), l.Hostname))
				}
			}
			sortParts(parts)
			r := resource.JoinParts(parts...)
			r.Binds = []string{net.JoinHostPort(address, strconv.Itoa(int(port.BindPort)))}
			return r, true
		})
}

// listenerKeys are the Listeners of a port, in the order of its addresses.
func listenerKeys(port model.Port) []resource.Key {
	keys := make([]resource.Key, len(port.Addresses))
	for i, a := range port.Addresses {
		keys[i] = resource.Key{Gateway: port.Key.Gateway, Type: xdstypes.Listener, Name: naming.Listener(port.Key, a)}
	}
	return keys
}

// addressPart is what the listeners of a port share at an address; without server names that is all, so it is every
// listener's fragment.
func (s stages) addressPart(c *flow.Ctx, port model.Port, address string, stated listenerFields) *resource.Part {
	stats := strconv.Itoa(int(port.Key.Number))
	l := &listenerv3.Listener{
		Name:                          naming.Listener(port.Key, address),
		StatPrefix:                    stats,
		Address:                       message.SocketAddress(address, port.BindPort),
		EnableReusePort:               wrapperspb.Bool(false), // a taken port is refused, not shared
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(message.ConnectionBufferBytes),
		TcpKeepalive:                  message.TCPKeepalive(message.KeepaliveIdle, message.KeepaliveInterval),
	}
	var needs []resource.Name
	switch {
	case port.Protocol.HasSNI():
		l.ListenerFilters, l.ListenerFiltersTimeout = tlsInspector(stated), durationpb.New(message.HandshakeTimeout)
	case port.Protocol == model.TCP:
		needs = s.addConnections(c, l, port, stated)
	case port.Protocol == model.UDP:
		needs = addDatagrams(l, port, stated)
	default:
		table := stats + "/" + naming.Shard
		needs = append(extensionNames(), resource.Name{Type: xdstypes.Routes, Name: table})
		logs := accessLogsOf(port.Key.Gateway, port.Key.Number, port.AccessLog)
		l.DefaultFilterChain = &listenerv3.FilterChain{Name: "http",
			Filters: []*listenerv3.Filter{connectionManager(stats, table, stated, logs)}}
		overlayChain(l.DefaultFilterChain, stated)
		needs = append(needs, route.ClustersOf(stated.Uses)...)
		if stated.Closed {
			needs = nil // nothing is asked for by a chain without filters
		}
	}
	overlayListener(l, stated)
	part := message.NewPart("", message.MustMarshal(l))
	part.Needs = needs
	part.Fragments = []resource.Fragment{{Origin: resource.Origin{Object: port.Key.Gateway}, Hash: part.Hash}}
	if !port.Protocol.HasSNI() {
		for _, l := range port.Listeners {
			if !l.Serves {
				continue
			}
			part.Fragments = append(part.Fragments, resource.Fragment{Origin: naming.ListenerOrigin(l.Key), Hash: part.Hash})
		}
	}
	return part
}

// tlsInspector reads the SNI, by which filter chains are chosen.
func tlsInspector(stated listenerFields) []*listenerv3.ListenerFilter {
	config := new(tlsinspectorv3.TlsInspector)
	overlayFields(config, new(tlsinspectorv3.TlsInspector), stated.port.TLSInspector)
	return []*listenerv3.ListenerFilter{{
		Name: "tls_inspector", ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: message.MustAny(config)},
	}}
}

// chainPart is an HTTPS listener's filter chain, taken by SNI.
func chainPart(l model.Listener, stated listenerFields) *resource.Part {
	name := naming.Section(l.Gateway, l.Key)
	logs := accessLogsOf(l.Gateway, l.Port.Number, l.AccessLog)
	manager := connectionManager(strconv.Itoa(int(l.Port.Number)), naming.Table(l), stated, logs)
	chain := &listenerv3.FilterChain{
		Name:            name,
		Filters:         []*listenerv3.Filter{manager},
		TransportSocket: terminateTLS(l, stated),
		// Before it, listener_filters_timeout bounds the wait for the client's first message.
		TransportSocketConnectTimeout: durationpb.New(message.HandshakeTimeout),
	}
	overlayChain(chain, stated)
	part := filterChainPart(chain, l.Hostname)
	part.Fragments = []resource.Fragment{{Origin: naming.ListenerOrigin(l.Key), Hash: part.Hash}}
	if !stated.Closed { // a chain without filters asks for nothing
		part.Needs = append(extensionNames(), resource.Name{Type: xdstypes.Routes, Name: naming.Table(l)})
		part.Needs = append(part.Needs, route.ClustersOf(stated.Uses)...)
	}
	part.Needs = append(part.Needs, terminationNeeds(l, stated)...)
	return part
}

// chainPrefix begins the IDs of parts that are filter chains.
const chainPrefix = "chain/"

// filterChainPart is a part of a listener: what becomes of the connections to a hostname, "" for those that no other
// chain takes.
func filterChainPart(chain *listenerv3.FilterChain, hostname string) *resource.Part {
	host := strings.ToLower(hostname)
	if host != "" {
		chain.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{host}}
	}
	part := message.NewPart(chainPrefix+chain.Name, message.EncodeField(filterChainsField, message.MustMarshal(chain)))
	part.Claims = []string{host}
	return part
}

// closingChain closes connections for the SNI of a listener that can't serve: a chain without filters does so. Without
// it they would reach a wider listener, its certificate and its routes.
func closingChain(name, hostname string) *resource.Part {
	return filterChainPart(&listenerv3.FilterChain{Name: name}, hostname)
}

// substituteChain stands in place of a filter chain that a proxy refused. It keeps hold of the secrets: those of a
// chain that was accepted before are the same most of the time, and another one is a reason to try again.
func substituteChain(name, hostname string, chain *resource.Part) *resource.Part {
	part := closingChain(name, hostname)
	part.Fragments = slices.Clone(chain.Fragments)
	part.Fragments[0].Refused = true
	part.Needs = slices.DeleteFunc(slices.Clone(chain.Needs),
		func(n resource.Name) bool { return n.Type != xdstypes.Secret })
	return part
}
