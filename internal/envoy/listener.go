package envoy

import (
	"net"
	"strconv"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// filterChainsField is Listener.filter_chains.
const filterChainsField = 3

// listeners has a Listener for each port: a part that its listeners share, and for HTTPS one filter chain each.
func listeners(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	chains := flow.Map(p.Listeners, "envoy/filter-chains", func(_ *flow.Ctx, k model.ListenerKey, l model.Listener) (*resource.Part, bool) {
		return chainPart(l), l.Protocol == model.HTTPS
	})
	shared := flow.Map(p.Ports, "envoy/listener-heads", func(_ *flow.Ctx, _ model.PortKey, port model.Port) (*resource.Part, bool) {
		return sharedPart(port), servable(port.Protocol, port.Key.Transport)
	})
	ports := flow.Group(p.Ports, "envoy/ports", func(k model.PortKey, _ model.Port) []resource.Key {
		return []resource.Key{listenerKey(k)}
	}, byKey)
	return flow.Map(ports, "envoy/listeners",
		func(c *flow.Ctx, _ resource.Key, ports flow.Members[model.PortKey, model.Port]) (resource.Resource, bool) {
			k, port := ports.At(0)
			head, ok := flow.Fetch(c, shared, k)
			if !ok {
				return resource.Resource{}, false
			}
			parts := []*resource.Part{head}
			refused := map[string]bool{} // Envoy wants each name once
			for _, l := range port.Listeners {
				if l.Serves {
					if chain, ok := flow.Fetch(c, chains, l.Key); ok {
						parts = append(parts, chain)
					}
				} else if host := strings.ToLower(l.Hostname); port.Protocol == model.HTTPS && host != "" && !refused[host] {
					refused[host] = true
					parts = append(parts, refusingChain(k.Gateway, l))
				}
			}
			sortParts(parts)
			r := newResource(parts...)
			for _, a := range port.Addresses {
				r.Binds = append(r.Binds, net.JoinHostPort(a, strconv.Itoa(int(port.BindPort))))
			}
			return r, true
		})
}

func listenerKey(k model.PortKey) resource.Key {
	return resource.Key{Gateway: k.Gateway, Type: resource.Listener, Name: listenerName(k)}
}

// sharedPart is what the listeners of a port share; for HTTP that is all, so it is every listener's fragment.
func sharedPart(port model.Port) *resource.Part {
	name := listenerName(port.Key)
	l := &listenerv3.Listener{
		Name:                          name,
		StatPrefix:                    name,
		Address:                       socketAddress(port.Addresses[0], port.BindPort),
		EnableReusePort:               wrapperspb.Bool(false), // a taken port is refused, not shared
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(connectionBufferBytes),
	}
	for _, a := range port.Addresses[1:] {
		l.AdditionalAddresses = append(l.AdditionalAddresses, &listenerv3.AdditionalAddress{
			Address: socketAddress(a, port.BindPort),
		})
	}
	if port.Protocol == model.HTTPS {
		l.ListenerFilters = []*listenerv3.ListenerFilter{{
			Name:       "tls_inspector",
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: mustAny(&tlsinspectorv3.TlsInspector{})},
		}}
	} else {
		table := name + "/" + shard
		l.DefaultFilterChain = &listenerv3.FilterChain{
			Name:    "http",
			Filters: []*listenerv3.Filter{connectionManager(name, table)},
		}
	}
	part := newPart("", mustMarshal(l))
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

// chainPart is an HTTPS listener's filter chain, taken by SNI.
func chainPart(l model.Listener) *resource.Part {
	name := sectionName(l.Gateway, l.Key)
	chain := &listenerv3.FilterChain{
		Name:            name,
		Filters:         []*listenerv3.Filter{connectionManager(listenerName(l.Port), tableName(l))},
		TransportSocket: terminateTLS(l.Certificates),
	}
	if l.Hostname != "" {
		chain.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{strings.ToLower(l.Hostname)}}
	}
	part := newPart("chain/"+name, field(filterChainsField, mustMarshal(chain)))
	part.Fragments = []resource.Fragment{{Origin: listenerOrigin(l.Key), Hash: part.Hash}}
	for _, ref := range l.Certificates {
		part.Needs = append(part.Needs, resource.Name{Type: resource.Secret, Name: secretName(ref)})
	}
	return part
}

// refusingChain closes connections for the SNI of a listener that can't serve: a chain without filters does so. Without it
// they would reach a wider listener, its certificate and its routes.
func refusingChain(gateway model.ObjectRef, l model.PortListener) *resource.Part {
	name := sectionName(gateway, l.Key)
	return newPart("chain/"+name, field(filterChainsField, mustMarshal(&listenerv3.FilterChain{
		Name:             name,
		FilterChainMatch: &listenerv3.FilterChainMatch{ServerNames: []string{strings.ToLower(l.Hostname)}},
	})))
}
