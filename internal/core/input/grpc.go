package input

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// AsHTTPRoute is what a GRPCRoute has in common with an HTTPRoute: all but the matches of its rules. Fields keep their
// places, so that messages may name them.
func AsHTTPRoute(spec *gatewayv1.GRPCRouteSpec) *gatewayv1.HTTPRouteSpec {
	route := &gatewayv1.HTTPRouteSpec{CommonRouteSpec: spec.CommonRouteSpec, Hostnames: spec.Hostnames}
	for _, rule := range spec.Rules {
		common := gatewayv1.HTTPRouteRule{Name: rule.Name, Filters: httpFilters(rule.Filters),
			SessionPersistence: rule.SessionPersistence}
		for _, b := range rule.BackendRefs {
			common.BackendRefs = append(common.BackendRefs,
				gatewayv1.HTTPBackendRef{BackendRef: b.BackendRef, Filters: httpFilters(b.Filters)})
		}
		route.Rules = append(route.Rules, common)
	}
	return route
}

// httpFilters are the same filters: an HTTPRoute has each type that a GRPCRoute has, by the same name.
func httpFilters(list []gatewayv1.GRPCRouteFilter) []gatewayv1.HTTPRouteFilter {
	var filters []gatewayv1.HTTPRouteFilter
	for _, f := range list {
		filters = append(filters, gatewayv1.HTTPRouteFilter{
			Type: gatewayv1.HTTPRouteFilterType(f.Type), RequestHeaderModifier: f.RequestHeaderModifier,
			ResponseHeaderModifier: f.ResponseHeaderModifier, RequestMirror: f.RequestMirror, ExtensionRef: f.ExtensionRef,
		})
	}
	return filters
}
