package kinds

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Routes are Cardea's own kinds of routes, the most frequent first.
func Routes() []*kind.Kind {
	return []*kind.Kind{httpRoute(), grpcRoute(), tlsRoute(), tcpRoute(), udpRoute()}
}

// completeRoute is a kind of routes with what is the same for all, besides what it declares by itself. backends are the
// kinds that routes can name.
func completeRoute(declared *kind.Kind, backends []*kind.Kind) *kind.Kind {
	k := *declared
	if (k.Route.HTTP == nil) != (k.Route.Matches == nil) {
		panic(fmt.Sprintf("kinds: %s declares only one of Route.HTTP and Route.Matches", k.QualifiedName()))
	}
	refers := routeRefers(namesOf(backends))
	if k.ReadAfter == model.KindNone {
		k.ReadAfter = model.KindGateway
	}
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		return append(refers.of(from, k.Route, spec), declared.ListReferences(from, spec)...)
	}
	k.RefersTo = slices.Concat([]model.Kind{model.KindGateway, model.KindListenerSet}, refers, declared.RefersTo)
	if k.Status == nil {
		k.Status = routeStatus(kind.StampOf(stampRoute))
	}
	if k.Columns == nil {
		k.Columns = routeColumns()
	}
	return &k
}

// routeRefers are the kinds of backends that routes can name.
type routeRefers []model.Kind

// of lists the Gateways and ListenerSets that a route names, and the backends to which its rules and their filters send
// requests.
func (backends routeRefers) of(from model.ObjectRef, route *kind.Route, spec any) []kind.Reference {
	r := kind.References{Namespace: from.Namespace()}
	for _, p := range route.Spec(spec).ParentRefs {
		var part kind.Part
		if p.Port != nil {
			part.Port = *p.Port
		}
		if p.SectionName != nil {
			part.Section = string(*p.SectionName)
		}
		r.Add(p.Group, p.Kind, p.Namespace, p.Name, kind.Reference{Part: part}, model.KindGateway,
			model.KindListenerSet)
	}
	for _, rule := range route.Rules(spec) {
		for _, b := range rule.BackendRefs {
			backends.add(&r, b.BackendObjectReference)
			backends.addFilters(&r, b.Filters)
		}
		backends.addFilters(&r, rule.Filters)
	}
	return r.List
}

func (backends routeRefers) add(r *kind.References, b gatewayv1.BackendObjectReference) {
	var part kind.Part
	if b.Port != nil {
		part.Port = *b.Port
	}
	r.Add(b.Group, b.Kind, b.Namespace, b.Name, kind.Reference{Part: part}, backends...)
}

func (backends routeRefers) addFilters(r *kind.References, filters []gatewayv1.HTTPRouteFilter) {
	for _, f := range filters {
		if f.RequestMirror != nil {
			backends.add(r, f.RequestMirror.BackendRef)
		}
		if f.ExternalAuth != nil {
			backends.add(r, f.ExternalAuth.BackendRef)
		}
	}
}
