package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/model"
)

// Names of the HTTP filters of every connection manager, by which routes configure them.
const (
	corsFilter  = "cors"
	chainFilter = "filters" // runs a list of filters that the route brings with it
)

// httpFilters is one fixed, ordered list: a change of it would drain connections. What a route does not configure is
// not even made for its requests. See docs/adr/0009-a-route-brings-its-filters.md.
func httpFilters() []*hcmv3.HttpFilter {
	filters := []*hcmv3.HttpFilter{
		// it reads the route's settings by its own name, so it can't be in the chain
		optionalFilter(corsFilter, &corsv3.Cors{}),
		optionalFilter(chainFilter, &filterchainv3.FilterChainConfig{}),
	}
	for _, f := range filters {
		f.Disabled = true
	}
	return append(filters, routerFilter())
}

func routerFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name:       "router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(&routerv3.Router{SuppressEnvoyHeaders: true})},
	}
}

// addFilters gives a route the HTTP filters that it needs. Their order is fixed: a preflight request is answered before
// anybody is asked for permission, and the headers and the path that the router changes come last.
func addFilters(route *routev3.Route, f model.Filters, s *model.Session, out bool) {
	var chain []*corev3.TypedExtensionConfig
	add := func(name string, config proto.Message) {
		chain = append(chain, &corev3.TypedExtensionConfig{Name: name, TypedConfig: mustAny(config)})
	}
	config := map[string]*anypb.Any{}
	if f.CORS != nil {
		config[corsFilter] = mustAny(corsPolicy(f.CORS))
	}
	if out {
		add("loop", loopGuard())
	}
	if f.Auth != nil {
		add("ext_authz", externalAuth(f.Auth))
	}
	if s != nil {
		add("stateful_session", statefulSession(s))
	}
	if len(chain) > 0 {
		config[chainFilter] = mustAny(
			&filterchainv3.FilterChainConfigPerRoute{FilterChain: &filterchainv3.FilterChain{Filters: chain}},
		)
	}
	if len(config) > 0 {
		route.TypedPerFilterConfig = config
	}
}
