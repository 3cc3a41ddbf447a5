package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/policy"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/reference"
)

// policyLookups find what policies name.
func (m *Translator) policyLookups(refs reference.Lookups) policy.Lookups {
	return policy.Lookups{
		ResolveBackend: func(c *flow.Ctx, from model.ObjectRef, to gatewayv1.BackendObjectReference, grpc bool) (
			policy.NamedBackend, problem.Unusable,
		) {
			read := m.Backends.ResolveBackend(c, from, to, grpc).Direct()
			return policy.NamedBackend{Key: read.Key, Outside: read.External}, read.Unusable
		},
		Secret: refs.ResolveSecret,
		Protocol: func(c *flow.Ctx, backend model.BackendKey) model.BackendProtocol {
			b, _ := m.backendAt(c, plan.BackendKey{Backend: backend}, model.DataPlane{})
			return b.Protocol
		},
		HasPicker: m.Backends.NeedsPicker,
		ConfigMap: refs.ResolveConfigMap,
		Entry:     refs.ResolveEntry,
		Through: func(c *flow.Ctx, backend model.BackendKey) (model.Backend, bool) {
			return m.backendAt(c, plan.BackendKey{Backend: backend}, model.DataPlane{})
		},
	}
}

// withPolicies are the backends that routes send requests to, and those that only settings do.
func (m *Translator) withPolicies(p *policy.Translator) *flow.Collection[plan.BackendKey, model.Backend] {
	if p.SettingsBackends == nil {
		return flow.Map(m.Plan.RoutesByBackend, "plan/backend", m.routeBackend)
	}
	return flow.Merge("plan/backend", flow.From(m.Plan.RoutesByBackend, m.routeBackend), flow.From(p.SettingsBackends,
		m.backendAt))
}

// routeBackend is a backend that routes send requests to.
func (m *Translator) routeBackend(
	c *flow.Ctx, key plan.BackendKey, users flow.Members[model.ObjectRef, model.Route],
) (model.Backend, bool) {
	_, user := users.At(0)
	return m.backendAt(c, key, user.DataPlaneOf(key.Gateway))
}

// backendAt is a backend as a Gateway's proxies have it.
func (m *Translator) backendAt(c *flow.Ctx, key plan.BackendKey, d model.DataPlane) (model.Backend, bool) {
	b, served := m.Backends.Find(c, key.Backend)
	b.DataPlane = d
	if b.TLS != nil && b.TLS.Policy != (model.ObjectRef{}) {
		if own, stated := flow.Fetch(c, m.clients, key.Gateway); stated {
			b.TLS = own.addCertificate(key.Gateway, b.TLS)
		}
	}
	if b.TLS != nil && b.TLS.Closed != "" {
		b.Hostname, b.HostPort, b.WholeName, b.Endpoints = "", 0, false, nil
	}
	return b, served
}

// backendsOf lists the backends that a route needs, on each Gateway where it serves.
func backendsOf(_ model.ObjectRef, r model.Route) []plan.BackendKey {
	var list []plan.BackendKey
	for _, place := range r.Listeners {
		for _, rule := range r.Rules {
			for _, key := range rule.ListBackends() {
				key.Carries = place.Carries
				list = append(list, plan.BackendKey{Gateway: place.Gateway, Backend: key})
			}
		}
	}
	return list
}

// denyingGateways are the Gateways that a route names and that did not accept it.
func (m *Translator) denyingGateways(c *flow.Ctx, route model.ObjectRef) (list []model.ObjectRef) {
	a, _ := flow.Fetch(c, m.attachments, route)
	attached := a.attachedGateways()
	for _, p := range a.Parents {
		if !slices.Contains(attached, p.Gateway) && !slices.Contains(list, p.Gateway.Ref) {
			list = append(list, p.Gateway.Ref)
		}
	}
	return list
}
