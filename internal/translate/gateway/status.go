package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
	"cardea.dev/cardea/internal/translate/resolve"
)

// NewReports makes the reports, out of what the objects mean and what became of it in a dialect and at the proxies.
func (m *Meaning) NewReports(
	out resource.Outputs, f *resource.Feedback,
) plan.Reports {
	// Many routes ask this of one Gateway, so it is no more than they need: it changes when proxies come and go.
	proxied := flow.Map(f.Proxies.Collection(), "proxied",
		func(_ *flow.Ctx, _ model.ObjectRef, p resource.Proxies) (struct{}, bool) {
			return struct{}{}, p.Acknowledged > 0
		})
	tooLarge := flow.Map(f.Written.Collection(), "too-large",
		func(_ *flow.Ctx, _ model.ObjectRef, w resource.Written) (struct{}, bool) {
			return struct{}{}, w.TooLarge != ""
		})
	browsers := newAtBrowsers(m.Plan)
	routes := routeReports{m, out, proxied, tooLarge}
	used := usedBackends{m, out.RefusedBackends}
	policies := tlsPolicyReports{m, m.services(), out.Policies, proxied, tooLarge}
	return plan.Reports{
		Kinds: append([]plan.Reporter{
			plan.Reported(model.KindGatewayClass, flow.Map(m.classes, "report/GatewayClass", m.classReport)),
			plan.Reported(model.KindGateway, flow.Map(m.gateways, "report/Gateway", m.gatewayReport(out, f))),
			plan.Reported(model.KindHTTPRoute, flow.Map(m.in.HTTPRoutes.Collection(), "report/HTTPRoute", routes.http)),
			plan.Reported(model.KindGRPCRoute, flow.Map(m.in.GRPCRoutes.Collection(), "report/GRPCRoute", routes.grpc)),
			plan.Reported(model.KindXBackend,
				flow.Map(m.in.XBackends.Collection(), "report/XBackend", xbackendReports{used}.report)),
			plan.Reported(model.KindInferencePool,
				flow.Map(m.in.InferencePools.Collection(), "report/InferencePool", poolReports{used}.report)),
			plan.Reported(model.KindBackendTLSPolicy,
				flow.Map(m.in.BackendTLSPolicies.Collection(), "report/BackendTLSPolicy", policies.report)),
		}, m.Policies.Reports(out, proxied)...),
		Beside: flow.Merge("beside", flow.From(m.unclassed, itself), flow.From(newShadowed(m.Plan), itself),
			flow.From(newSharedCookies(browsers), itself),
			flow.From(newLostPreflights(m.Plan, browsers), itself),
			flow.From(m.forPickers(), itself)),
	}
}

func itself(_ *flow.Ctx, _ model.ObjectRef, list []model.Finding) ([]model.Finding, bool) {
	return list, true
}

func (m *Meaning) classReport(
	c *flow.Ctx, ref model.ObjectRef, own class,
) (plan.Report[gatewayv1.GatewayClassStatus], bool) {
	facts := own.Class
	if own.Deleting {
		named, _ := flow.Fetch(c, m.named, ref)
		facts.Keep = named.Len()
	}
	return plan.Report[gatewayv1.GatewayClassStatus]{UID: own.UID, Status: conditions.GatewayClass(facts),
		Findings: own.Findings}, true
}

func (m *Meaning) gatewayReport(
	out resource.Outputs, f *resource.Feedback,
) func(*flow.Ctx, model.ObjectRef, gatewayFacts) (plan.Report[gatewayv1.GatewayStatus], bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, g gatewayFacts) (plan.Report[gatewayv1.GatewayStatus], bool) {
		facts := conditions.GatewayFacts{
			Generation: g.Generation, Findings: g.Findings, Bind: g.Bind, Fronted: g.Fronted, DataPlane: g.Proxy.DataPlane,
			Affected:        m.Policies.Affecting(c, ref, "", false),
			InsecureClients: g.InsecureClients,
		}
		if client, stated := flow.Fetch(c, m.clients, ref); stated {
			facts.Refers = true
			facts.Findings = slices.Concat(facts.Findings, client.finding(ref))
		}
		looked := !g.Fronted
		if g.Fronted {
			facts.Front, looked = flow.Fetch(c, m.in.Fronts.Collection(), ref)
			behind, _ := flow.Fetch(c, m.slices, model.Ref(model.KindService, ref.Namespace(), g.Proxy.Name))
			facts.Answered = resolve.Answered(specs(behind))
		}
		if facts.DataPlane.ReadsFiles() {
			facts.Written, _ = flow.Fetch(c, f.Written.Collection(), ref)
		} else {
			facts.Proxies, _ = flow.Fetch(c, f.Proxies.Collection(), ref)
		}
		findings := slices.Concat(facts.Findings, m.Policies.Astray(c, ref))
		if facts.Written.TooLarge != "" {
			findings = append(findings, model.Finding{
				Object: ref, Condition: "Programmed", Reason: conditions.TooLarge, Message: facts.Written.TooLarge,
			})
		}
		for i, view := range g.Listeners {
			l, _ := flow.Fetch(c, m.listeners, view.Key)
			attached, _ := flow.Fetch(c, m.attached, view.Key)
			standing, _ := flow.Fetch(c, out.Listeners, resource.StandingKey{
				Gateway: ref, Origin: resource.Origin{Object: view.Key.Parent, Section: view.Key.Section},
			})
			// One that policies close is valid, but nobody gets an answer there.
			closing := m.Policies.Closing(c, view.Key, fmt.Sprintf("spec.listeners[%d]", i))
			own := slices.Concat(l.Findings, closing)
			facts.Listeners = append(facts.Listeners, conditions.Listener{
				Section: view.Key.Section, Kinds: l.Kinds, Attached: attached.Len(), Findings: own,
				Overlaps: l.Overlaps, Serves: l.Serves && len(closing) == 0, Standing: standing,
				Affected: m.Policies.Affecting(c, ref, view.Key.Section, false),
			})
			findings = append(findings, own...)
			if standing.Refused != "" && l.Serves {
				findings = append(findings, model.Finding{
					Object: ref, Section: view.Key.Section, Condition: "Programmed", Reason: "Invalid",
					Field:   fmt.Sprintf("spec.listeners[%d]", i),
					Message: "the proxy refused it: " + standing.Refused,
				})
			}
		}
		return plan.Report[gatewayv1.GatewayStatus]{
			UID: g.Proxy.UID, Status: conditions.Gateway(facts), Findings: findings, Tentative: !looked,
		}, true
	}
}

// routeReports reports on routes of both kinds.
type routeReports struct {
	*Meaning
	out      resource.Outputs
	proxied  *flow.Collection[model.ObjectRef, struct{}]
	tooLarge *flow.Collection[model.ObjectRef, struct{}] // what is current can't be written to files
}

func (m routeReports) http(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.HTTPRouteSpec],
) (plan.Report[gatewayv1.HTTPRouteStatus], bool) {
	status, findings := m.report(c, ref, o.Meta, o.Spec.ParentRefs)
	return plan.Report[gatewayv1.HTTPRouteStatus]{
		UID: o.Meta.UID, Status: gatewayv1.HTTPRouteStatus{RouteStatus: status}, Findings: findings,
	}, true
}

func (m routeReports) grpc(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GRPCRouteSpec],
) (plan.Report[gatewayv1.GRPCRouteStatus], bool) {
	status, findings := m.report(c, ref, o.Meta, o.Spec.ParentRefs)
	return plan.Report[gatewayv1.GRPCRouteStatus]{
		UID: o.Meta.UID, Status: gatewayv1.GRPCRouteStatus{RouteStatus: status}, Findings: findings,
	}, true
}

func (m routeReports) report(
	c *flow.Ctx, ref model.ObjectRef, meta model.Meta, parents []gatewayv1.ParentReference,
) (gatewayv1.RouteStatus, []model.Finding) {
	a, _ := flow.Fetch(c, m.attachments, ref)
	route, _ := flow.Fetch(c, m.Plan.Routes, ref)
	facts := conditions.RouteFacts{
		Kind: ref.Kind(), Generation: meta.Generation, Controller: model.ControllerName, Rules: len(route.Rules),
		Findings: route.Findings, Affected: m.Policies.Affecting(c, ref, "", true),
	}
	facts.Affected = m.Policies.Replacing(c, ref, route.Rules, facts.Affected)
	names := func(r model.Rule) bool { return len(r.Policies) > 0 }
	if len(facts.Affected) > 0 || slices.ContainsFunc(route.Rules, names) {
		facts.Denied = m.Policies.Denied(c, ref, route.Rules)
	}
	standings := make([]resource.RouteStanding, len(a.Parents))
	for i, p := range a.Parents {
		standings[i], _ = flow.Fetch(c, m.out.Routes, resource.RouteKey{Gateway: p.Gateway.Ref, Route: ref})
		standings[i].Unsupported = located(slices.Concat(standings[i].Unsupported,
			m.Policies.Forgeable(c, ref, route, p.has)), route.Rules)
	}
	findings := slices.Concat(a.Findings, route.Findings, facts.Denied, cannotRender(a.Parents, standings))
	if len(facts.Affected) > 0 {
		findings = append(findings, m.Policies.Astray(c, ref)...)
	}
	for i, p := range a.Parents {
		standing := standings[i]
		parent := conditions.Parent{Ref: parents[p.Index], Findings: p.Findings, Unsupported: standing.Unsupported}
		for _, f := range standing.Unsupported {
			if f.Severity == model.Warning {
				parent.Findings = append(slices.Clip(parent.Findings), f)
			}
		}
		findings = append(findings, p.Findings...)
		for _, f := range route.Findings {
			if f.Parent == p.Parent {
				parent.Findings = append(parent.Findings, f)
			}
		}
		parent.Attached = !hasError(parent.Findings, "Accepted")
		if parent.Attached {
			if parent.DataPlane = p.Gateway.DataPlane; parent.DataPlane.ReadsFiles() {
				_, parent.TooLarge = flow.Fetch(c, m.tooLarge, p.Gateway.Ref)
			} else {
				_, parent.Proxied = flow.Fetch(c, m.proxied, p.Gateway.Ref)
			}
			parent.Standing = standing.At(p.has)
			if slices.ContainsFunc(parent.Standing, func(s resource.Standing) bool { return !s.Acknowledged }) {
				m.without(c, &parent, p, standing)
			}
		}
		for i, s := range parent.Standing[:min(len(parent.Standing), len(route.Rules))] {
			if s.Refused != "" {
				findings = append(findings, model.Finding{
					Object: ref, Parent: p.Parent, Section: route.Rules[i].Key.Name,
					Condition: conditions.Programmed, Reason: "RejectedByProxy", Field: route.Rules[i].Field(),
					Message: "the proxy refused it: " + s.Refused,
				})
			}
		}
		facts.Parents = append(facts.Parents, parent)
	}
	return conditions.Route(facts), findings
}

// without leaves listeners that a proxy refused out of what a route waits for: it would wait until those are mended.
// Only a route that waits looks at them, so that they change no others.
func (m routeReports) without(c *flow.Ctx, parent *conditions.Parent, p attachment, standing resource.RouteStanding) {
	served := func(listener model.ListenerKey) bool {
		at, _ := flow.Fetch(c, m.out.Listeners, resource.StandingKey{
			Gateway: p.Gateway.Ref, Origin: resource.Origin{Object: listener.Parent, Section: listener.Section},
		})
		return at.Refused == ""
	}
	for _, l := range p.Listeners {
		if !served(l.Key) {
			parent.Refused = append(parent.Refused, l.Key.Section)
		}
	}
	if len(parent.Refused) == 0 {
		return
	}
	if rest := standing.At(func(l model.ListenerKey) bool {
		return p.has(l) &&
			!slices.Contains(parent.Refused, l.Section)
	}); rest != nil {
		parent.Standing = rest
	}
}

// cannotRender lists what the dialects can't render of a route: what is said at every parent once, the rest for the
// parent where it is said.
func cannotRender(parents []attachment, standings []resource.RouteStanding) (list []model.Finding) {
	everywhere := func(f model.Finding) bool {
		for i, p := range parents {
			if len(p.Listeners) > 0 && !slices.Contains(standings[i].Unsupported, f) {
				return false
			}
		}
		return true
	}
	for i, p := range parents {
		for _, f := range standings[i].Unsupported {
			if !everywhere(f) {
				f.Parent, f.Message = p.Parent, fmt.Sprintf("at %s: %s", p.Gateway.Ref, f.Message)
			}
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// located adds the place of the rule in the route to each finding about a rule: a dialect does not know it.
func located(list []model.Finding, rules []model.Rule) []model.Finding {
	list = slices.Clone(list)
	for i := range list {
		at := slices.IndexFunc(rules, func(rule model.Rule) bool { return rule.Key.Name == list[i].Section })
		if at >= 0 {
			list[i].Field = rules[at].Field() + list[i].Field
		}
	}
	return list
}
