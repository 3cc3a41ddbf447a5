package envoy

import (
	"net"
	"slices"
	"strconv"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// filterChainsField is Listener.filter_chains.
const filterChainsField = 3

// listeners has a Listener for each address of a port: a part of its own, and for HTTPS a filter chain for each
// listener that shares the port. Envoy can't change the addresses of a Listener that is live, and one that is taken
// must not keep the others from serving.
func (s stages) listeners(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	chains := flow.Map(p.Listeners, "envoy/filter-chains",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (*resource.Part, bool) {
			if l.Protocol != model.HTTPS || !ours(l.DataPlane) {
				return nil, false
			}
			chain := chainPart(l, fetch(c, p.Settings.Chains, k).ListenerFields)
			if _, refused := flow.Fetch(c, s.refused, refusalKey(l.Gateway, chain.Fragments[0])); refused {
				chain = substituteChain(sectionName(l.Gateway, l.Key), l.Hostname, chain)
			}
			return chain, true
		})
	ports := flow.Group(p.Ports, "envoy/ports", func(k model.PortKey, port model.Port) []resource.Key {
		if !servable(port.DataPlane, port.Protocol, k.Transport) {
			return nil
		}
		return listenerKeys(port)
	}, flow.ByKey)
	return flow.Map(ports, "envoy/listeners",
		func(c *flow.Ctx, key resource.Key, ports flow.Members[model.PortKey, model.Port]) (resource.Resource, bool) {
			k, port := ports.At(0)
			address := port.Addresses[slices.Index(listenerKeys(port), key)]
			parts := []*resource.Part{addressPart(port, address, fetch(c, p.Settings.Ports, k).ListenerFields)}
			refused := map[string]bool{} // Envoy wants each name once
			for _, l := range port.Listeners {
				if l.Serves {
					if chain, ok := flow.Fetch(c, chains, l.Key); ok {
						parts = append(parts, chain)
					}
				} else if host := strings.ToLower(l.Hostname); port.Protocol == model.HTTPS && host != "" && !refused[host] {
					refused[host] = true
					parts = append(parts, refusingChain(sectionName(k.Gateway, l.Key), l.Hostname))
				}
			}
			sortParts(parts)
			r := resource.Join(parts...)
			r.Binds = []string{net.JoinHostPort(address, strconv.Itoa(int(port.BindPort)))}
			return r, true
		})
}

// listenerKeys are the Listeners of a port, in the order of its addresses.
func listenerKeys(port model.Port) []resource.Key {
	keys := make([]resource.Key, len(port.Addresses))
	for i, a := range port.Addresses {
		keys[i] = resource.Key{Gateway: port.Key.Gateway, Type: resource.Listener, Name: listenerName(port.Key, a)}
	}
	return keys
}

// addressPart is what the listeners of a port share at an address; for HTTP that is all, so it is every listener's
// fragment.
func addressPart(port model.Port, address string, stated plan.ListenerFields) *resource.Part {
	stats := strconv.Itoa(int(port.Key.Number))
	l := &listenerv3.Listener{
		Name:                          listenerName(port.Key, address),
		StatPrefix:                    stats,
		Address:                       socketAddress(address, port.BindPort),
		EnableReusePort:               wrapperspb.Bool(false), // a taken port is refused, not shared
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(connectionBufferBytes),
		TcpKeepalive:                  tcpKeepalive(keepaliveIdle, keepaliveInterval),
	}
	var needs []resource.Name
	if port.Protocol == model.HTTPS {
		l.ListenerFilters, l.ListenerFiltersTimeout = tlsInspector(stated), seconds(handshakeTimeout)
	} else {
		table := stats + "/" + shard
		needs = append(extensionNames(), resource.Name{Type: resource.Routes, Name: table})
		logs := logsOf(port.Key.Gateway, port.Key.Number, port.AccessLog)
		l.DefaultFilterChain = &listenerv3.FilterChain{Name: "http",
			Filters: []*listenerv3.Filter{connectionManager(stats, table, stated, logs)}}
		overlayChain(l.DefaultFilterChain, stated)
		needs = append(needs, clustersOf(stated.Uses)...)
		if stated.Closed {
			needs = nil // nothing is asked for by a chain without filters
		}
	}
	overlayListener(l, stated)
	part := newPart("", mustMarshal(l))
	part.Needs = needs
	part.Fragments = []resource.Fragment{{Origin: resource.Origin{Object: port.Key.Gateway}, Hash: part.Hash}}
	if port.Protocol != model.HTTPS {
		for _, l := range port.Listeners {
			if !l.Serves {
				continue
			}
			part.Fragments = append(part.Fragments, resource.Fragment{Origin: listenerOrigin(l.Key), Hash: part.Hash})
		}
	}
	return part
}

// tlsInspector reads the SNI, by which filter chains are chosen.
func tlsInspector(stated plan.ListenerFields) []*listenerv3.ListenerFilter {
	config := new(tlsinspectorv3.TlsInspector)
	overlayFields(config, new(tlsinspectorv3.TlsInspector), stated.TLSInspector)
	return []*listenerv3.ListenerFilter{{
		Name: "tls_inspector", ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: mustAny(config)},
	}}
}

// chainPart is an HTTPS listener's filter chain, taken by SNI.
func chainPart(l model.Listener, stated plan.ListenerFields) *resource.Part {
	name := sectionName(l.Gateway, l.Key)
	logs := logsOf(l.Gateway, l.Port.Number, l.AccessLog)
	manager := connectionManager(strconv.Itoa(int(l.Port.Number)), tableName(l), stated, logs)
	chain := &listenerv3.FilterChain{
		Name:            name,
		Filters:         []*listenerv3.Filter{manager},
		TransportSocket: terminateTLS(l, stated),
		// Before it, listener_filters_timeout bounds the wait for the client's first message.
		TransportSocketConnectTimeout: seconds(handshakeTimeout),
	}
	overlayChain(chain, stated)
	part := filterChain(chain, l.Hostname)
	part.Fragments = []resource.Fragment{{Origin: listenerOrigin(l.Key), Hash: part.Hash}}
	if !stated.Closed { // a chain without filters asks for nothing
		part.Needs = append(extensionNames(), resource.Name{Type: resource.Routes, Name: tableName(l)})
		part.Needs = append(part.Needs, clustersOf(stated.Uses)...)
	}
	for _, ref := range l.Certificates {
		part.Needs = append(part.Needs, resource.Name{Type: resource.Secret, Name: secretName(ref)})
	}
	if asksClients(l, stated) {
		part.Needs = append(part.Needs, resource.Name{Type: resource.Secret, Name: clientsName(l, stated)})
	}
	return part
}

// chainPrefix begins the IDs of parts that are filter chains.
const chainPrefix = "chain/"

// filterChain is a part of a listener: what becomes of the connections to a hostname, "" for those that no other chain
// takes.
func filterChain(chain *listenerv3.FilterChain, hostname string) *resource.Part {
	host := strings.ToLower(hostname)
	if host != "" {
		chain.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{host}}
	}
	part := newPart(chainPrefix+chain.Name, field(filterChainsField, mustMarshal(chain)))
	part.Claims = []string{host}
	return part
}

// refusingChain closes connections for the SNI of a listener that can't serve: a chain without filters does so. Without
// it they would reach a wider listener, its certificate and its routes.
func refusingChain(name, hostname string) *resource.Part {
	return filterChain(&listenerv3.FilterChain{Name: name}, hostname)
}

// substituteChain stands in place of a filter chain that a proxy refused. It keeps hold of the secrets: those of a
// chain that was accepted before are the same most of the time, and another one is a reason to try again.
func substituteChain(name, hostname string, chain *resource.Part) *resource.Part {
	part := refusingChain(name, hostname)
	part.Fragments = slices.Clone(chain.Fragments)
	part.Fragments[0].Refused = true
	part.Needs = slices.DeleteFunc(slices.Clone(chain.Needs),
		func(n resource.Name) bool { return n.Type != resource.Secret })
	return part
}
