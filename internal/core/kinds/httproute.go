package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func httpRoute() *kind.Kind {
	k := custom(model.KindHTTPRoute, selected(kind.Custom[gatewayv1.HTTPRouteSpec]()))
	k.After, k.Many, k.Route = model.KindGateway, true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		return routeReferences(from, spec.(*gatewayv1.HTTPRouteSpec))
	}
	k.Refers = routeRefers
	k.Foreign = func(spec any) any {
		refs := spec.(*gatewayv1.HTTPRouteSpec).ParentRefs
		return &gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: refs}}
	}
	k.Status = routeStatus(kind.StampOf(func(s gatewayv1.HTTPRouteStatus, stamp kind.Stamper) gatewayv1.HTTPRouteStatus {
		s.RouteStatus = stampRoute(s.RouteStatus, stamp)
		return s
	}))
	k.Columns = routeColumns()
	k.Page = &kind.Page{Path: "docs/httproute.md", Limits: httpRouteLimits,
		Once: []string{"rules[].backendRefs[].filters[]"}}
	return &k
}

var routeRefers = append([]model.Kind{model.KindGateway}, backendKinds()...)

// routeReferences are the Gateways that a route names, and the backends to which its rules and their filters send
// requests.
func routeReferences(from model.ObjectRef, route *gatewayv1.HTTPRouteSpec) []kind.Reference {
	r := kind.References{Namespace: from.Namespace()}
	for _, p := range route.ParentRefs {
		var part kind.Part
		if p.Port != nil {
			part.Port = *p.Port
		}
		if p.SectionName != nil {
			part.Section = string(*p.SectionName)
		}
		r.Add(p.Group, p.Kind, p.Namespace, p.Name, kind.Reference{Part: part}, model.KindGateway)
	}
	for _, rule := range route.Rules {
		for _, b := range rule.BackendRefs {
			addBackend(&r, b.BackendObjectReference)
			addFilters(&r, b.Filters)
		}
		addFilters(&r, rule.Filters)
	}
	return r.List
}

func addBackend(r *kind.References, b gatewayv1.BackendObjectReference) {
	var part kind.Part
	if b.Port != nil {
		part.Port = *b.Port
	}
	r.Add(b.Group, b.Kind, b.Namespace, b.Name, kind.Reference{Part: part}, backendKinds()...)
}

func addFilters(r *kind.References, filters []gatewayv1.HTTPRouteFilter) {
	for _, f := range filters {
		if f.RequestMirror != nil {
			addBackend(r, f.RequestMirror.BackendRef)
		}
		if f.ExternalAuth != nil {
			addBackend(r, f.ExternalAuth.BackendRef)
		}
	}
}
