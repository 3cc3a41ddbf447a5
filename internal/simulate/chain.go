package simulate

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/request"
)

// filtered is what the HTTP filters before the router make of a request.
type filtered struct {
	answer   *Outcome                           // of a filter: the request goes no further
	response []request.Edit                     // of whatever is answered later
	session  *statefulsessionv3.StatefulSession // nil: none
}

// The filters that do nothing for a route that has no settings for them.
const (
	corsKind  = "Cors"
	chainKind = "FilterChainConfig"
)

var inert = map[string]bool{corsKind: true, chainKind: true, "HeaderMutationPerRoute": true, "StatefulSession": true}

// chain notes the HTTP filters of a connection manager. What does something for every request is named: it is not
// simulated.
func (s *simulation) chain(m *hcmv3.HttpConnectionManager) {
	for _, f := range m.GetHttpFilters() {
		router := new(routerv3.Router)
		if f.GetTypedConfig().MessageIs(router) {
			if f.GetTypedConfig().UnmarshalTo(router) == nil {
				s.survey(router, "suppress_envoy_headers", "dynamic_stats", "start_child_span", "upstream_log")
			}
			continue
		}
		s.filters = append(s.filters, f)
		if !f.GetDisabled() && !inert[shortType(f.GetTypedConfig().GetTypeUrl())] {
			s.missing(f.GetName())
		}
	}
}

// filter runs the filters that a route has settings for, in the order of the chain, up to one that answers.
func (s *simulation) filter(t *table, v *routev3.VirtualHost, r *routev3.Route) (f filtered) {
	for _, wide := range []map[string]*anypb.Any{t.head.GetTypedPerFilterConfig(), v.GetTypedPerFilterConfig()} {
		for name := range wide {
			s.missing(name)
		}
	}
	inChain := map[string]bool{}
	for _, filter := range s.filters {
		inChain[filter.GetName()] = true
		settings := r.GetTypedPerFilterConfig()[filter.GetName()]
		if settings == nil || f.answer != nil {
			continue
		}
		known := false
		switch shortType(filter.GetTypedConfig().GetTypeUrl()) {
		case corsKind:
			known = s.cors(settings, r, &f)
		case chainKind:
			known = s.brought(settings, r, &f)
		}
		if !known {
			s.missing(filter.GetName())
		}
	}
	for name := range r.GetTypedPerFilterConfig() {
		if !inChain[name] {
			s.missing(name)
		}
	}
	return f
}

// brought runs the filters that a route brings along. It is false if settings are not simulated.
func (s *simulation) brought(settings *anypb.Any, r *routev3.Route, f *filtered) bool {
	route := new(filterchainv3.FilterChainConfigPerRoute)
	if err := settings.UnmarshalTo(route); err != nil {
		return false
	}
	s.survey(route, "filter_chain")
	s.survey(route.GetFilterChain(), "filters")
	for _, filter := range route.GetFilterChain().GetFilters() {
		if fault := new(faultv3.HTTPFault); filter.GetTypedConfig().UnmarshalTo(fault) == nil {
			if s.fault(fault, r, f); f.answer != nil {
				return true
			}
			continue
		}
		session := new(statefulsessionv3.StatefulSession)
		if err := filter.GetTypedConfig().UnmarshalTo(session); err != nil {
			s.missing(filter.GetName())
			continue
		}
		s.survey(session, "session_state")
		f.session = session
	}
	return true
}
