package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/backend"
	"cardea.dev/cardea/internal/translate/conditions"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/shadow"
)

// NewReports makes the reports, out of what the objects mean and what became of it in a dialect and at the proxies.
func (m *Translator) NewReports(
	out resource.Outputs, f *resource.Feedback,
) plan.Reports {
	// Many routes ask this of one Gateway, so it is no more than they need: it changes when proxies come and go.
	proxied := flow.Map(f.Proxies.Collection(), "proxied",
		func(_ *flow.Ctx, _ model.ObjectRef, p resource.ProxySummary) (struct{}, bool) {
			return struct{}{}, p.Acknowledged > 0
		})
	tooLarge := flow.Map(f.Written.Collection(), "too-large",
		func(_ *flow.Ctx, _ model.ObjectRef, w resource.WrittenFiles) (struct{}, bool) {
			return struct{}{}, w.TooLarge != ""
		})
	browsers := shadow.NewBrowserNeeds(m.Plan)
	routes := routeReports{m, out, proxied, tooLarge}
	return plan.Reports{
		Reporters: append([]plan.Reporter{
			plan.NewReporter(model.KindGatewayClass, flow.Map(m.classes, "report/GatewayClass", m.classReport)),
			plan.NewReporter(model.KindGateway, flow.Map(m.gateways, "report/Gateway", m.gatewayReport(out, f))),
			plan.NewReporter(model.KindListenerSet,
				flow.Map(m.in.ListenerSets.Collection(), "report/ListenerSet", m.setReport(out, f))),
		}, slices.Concat(routes.all(), m.inUse.Reporters(out.RefusedBackends), []plan.Reporter{
			m.inUse.TLSPolicyReporter(backend.TLSPolicyOutcomes{Gateways: m.Plan.Gateways, AckStates: out.Policies,
				Proxied: proxied, TooLarge: tooLarge}),
		}, m.Policies.NewReports(out, proxied))...),
		OtherFindings: flow.Merge("beside", flow.From(m.unclassed, keepFindings), flow.From(shadow.NewFindings(m.Plan),
			keepFindings),
			flow.From(shadow.NewSharedCookies(browsers), keepFindings),
			flow.From(shadow.NewLostPreflights(m.Plan, browsers), keepFindings),
			flow.From(m.Backends.WarnPoolRefs(), keepFindings),
			flow.From(flow.Map(m.in.ListenerSets.Collection(), "set/orphans", m.findOrphanSets), keepFindings),
			flow.From(flow.Map(m.in.GatewayClasses.Collection(), "class/mistyped", findMistypedController), keepFindings),
			flow.From(flow.Map(m.in.ReferenceGrants.Collection(), "grant/mistyped", findMistypedGrants(m.in.Catalog)),
				keepFindings)),
	}
}

func keepFindings(_ *flow.Ctx, _ model.ObjectRef, list []model.Finding) ([]model.Finding, bool) {
	return list, true
}

func (m *Translator) classReport(
	c *flow.Ctx, ref model.ObjectRef, own classFacts,
) (plan.Report[gatewayv1.GatewayClassStatus], bool) {
	facts := own.GatewayClassFacts
	if own.Deleting {
		named, _ := flow.Fetch(c, m.gatewaysByClass, ref)
		facts.WaitingGateways = named.Len()
	}
	return plan.Report[gatewayv1.GatewayClassStatus]{UID: own.UID, Status: conditions.GatewayClassStatus(facts),
		Findings: own.Findings}, true
}

func (m *Translator) gatewayReport(
	out resource.Outputs, f *resource.Feedback,
) func(*flow.Ctx, model.ObjectRef, gatewayFacts) (plan.Report[gatewayv1.GatewayStatus], bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, g gatewayFacts) (plan.Report[gatewayv1.GatewayStatus], bool) {
		facts, looked := m.proxyFacts(c, f, ref, g)
		facts.Affected = m.Policies.AffectingPolicies(c, ref, "", false)
		if client, stated := flow.Fetch(c, m.clients, ref); stated {
			facts.Refers = true
			facts.Findings = slices.Concat(facts.Findings, client.certificateFindings(ref))
		}
		findings := slices.Concat(facts.Findings, m.Policies.MissingSections(c, ref))
		if facts.Written.TooLarge != "" {
			findings = append(findings, model.Finding{
				Object: ref, Condition: "Programmed", Reason: conditions.TooLarge, Message: facts.Written.TooLarge,
			})
		}
		var own []model.Finding
		facts.Listeners, own = m.listenerReports(c, out, ref, g, ref)
		findings = append(findings, own...)
		if g.AllowsSets {
			facts.AttachedSets = m.countSets(c, out, facts, ref, g)
		}
		return plan.Report[gatewayv1.GatewayStatus]{
			UID: g.Proxy.UID, Status: conditions.GatewayStatus(facts), Findings: findings, Tentative: !looked,
		}, true
	}
}

// proxyFacts is what is known of a Gateway and its proxies, without its listeners and the policies. looked is false as
// long as nobody has looked at the Service in front of them.
func (m *Translator) proxyFacts(
	c *flow.Ctx, f *resource.Feedback, ref model.ObjectRef, g gatewayFacts,
) (facts conditions.GatewayFacts, looked bool) {
	facts = conditions.GatewayFacts{
		Generation: g.Generation, Findings: g.Findings, Bind: g.Bind, Fronted: g.Fronted, DataPlane: g.Proxy.DataPlane,
		InsecureClients: g.InsecureClients,
	}
	looked = !g.Fronted
	if g.Fronted {
		facts.Front, looked = flow.Fetch(c, m.in.Fronts.Collection(), ref)
		facts.Answered = m.Backends.HasEndpoints(c, model.Ref(model.KindService, ref.Namespace(), g.Proxy.Name))
	}
	if facts.DataPlane.ReadsFiles {
		facts.Written, _ = flow.Fetch(c, f.Written.Collection(), ref)
	} else {
		facts.Proxies, _ = flow.Fetch(c, f.Proxies.Collection(), ref)
	}
	return facts, looked
}

// listenerReports is what is known of the listeners of a Gateway that stand in an object: in itself, or in a
// ListenerSet.
func (m *Translator) listenerReports(
	c *flow.Ctx, out resource.Outputs, gateway model.ObjectRef, g gatewayFacts, parent model.ObjectRef,
) (list []conditions.ListenerFacts, findings []model.Finding) {
	for i, view := range g.Listeners {
		if view.Key.Parent != parent {
			continue
		}
		field := g.ListenerSpecs[i].Field
		l, _ := flow.Fetch(c, m.listeners, view.Key)
		attached, _ := flow.Fetch(c, m.attached, view.Key)
		standing, _ := flow.Fetch(c, out.Listeners, resource.AckStateKey{
			Gateway: gateway, Origin: resource.Origin{Object: view.Key.Parent, Section: view.Key.Section},
		})
		// One that policies close is valid, but nobody gets an answer there.
		closing := m.Policies.ClosingFindings(c, view.Key, field)
		own := slices.Concat(l.Findings, closing)
		list = append(list, conditions.ListenerFacts{
			Section: view.Key.Section, Kinds: l.Kinds, Attached: attached.Len(), Findings: own,
			Overlaps: l.Overlaps, Serves: l.Serves && len(closing) == 0, AckState: standing,
			Affected: m.Policies.AffectingPolicies(c, view.Key.Parent, view.Key.Section, false),
		})
		findings = append(findings, own...)
		if standing.Refused != "" && l.Serves {
			findings = append(findings, model.Finding{
				Object: parent, Section: view.Key.Section, Condition: "Programmed", Reason: "Invalid", Field: field,
				Message: "the proxy rejected it: " + standing.Refused,
			})
		}
	}
	return list, findings
}

// routeReports reports on routes of all kinds.
type routeReports struct {
	*Translator
	out      resource.Outputs
	proxied  *flow.Collection[model.ObjectRef, struct{}]
	tooLarge *flow.Collection[model.ObjectRef, struct{}] // what is current can't be written to files
}

func (m routeReports) all() (list []plan.Reporter) {
	for _, k := range m.in.Catalog.Routes() {
		list = append(list, m.of(k))
	}
	return list
}

// of are the reports on routes of a kind.
func (m routeReports) of(k *kind.Kind) plan.Reporter {
	reports := flow.Merge("report/"+k.QualifiedName(), flow.FromProjected(m.in.KindSource(k.Kind).Objects(),
		func(c *flow.Ctx, ref model.ObjectRef, o kind.UntypedObject) (plan.Report[gatewayv1.RouteStatus], bool) {
			status, findings := m.reportRoute(c, ref, o.Meta, k.Route.Spec(o.Spec).ParentRefs)
			return plan.Report[gatewayv1.RouteStatus]{UID: o.Meta.UID, Status: status, Findings: findings}, true
		}))
	if k.Route.Status == nil {
		return plan.NewReporter(k.Kind, reports)
	}
	return plan.ReportedAs(k.Kind, reports, k.Route.Status)
}

func (m routeReports) reportRoute(
	c *flow.Ctx, ref model.ObjectRef, meta model.Meta, parents []gatewayv1.ParentReference,
) (gatewayv1.RouteStatus, []model.Finding) {
	a, _ := flow.Fetch(c, m.attachments, ref)
	route, _ := flow.Fetch(c, m.Plan.Routes, ref)
	facts := conditions.RouteFacts{
		Kind: ref.Kind(), Generation: meta.Generation, Controller: model.ControllerName, Rules: len(route.Rules),
		Findings: route.Findings, Affected: m.Policies.AffectingPolicies(c, ref, "", true),
	}
	facts.Affected = m.Policies.AddReplaced(c, ref, route.Rules, facts.Affected)
	names := func(r model.Rule) bool { return len(r.Policies) > 0 }
	if len(facts.Affected) > 0 || slices.ContainsFunc(route.Rules, names) {
		facts.Denied = m.Policies.DeniedRules(c, ref, route.Rules)
	}
	standings := make([]resource.RouteAckState, len(a.Parents))
	for i, p := range a.Parents {
		standings[i], _ = flow.Fetch(c, m.out.Routes, resource.RouteKey{Gateway: p.Gateway.Ref, Route: ref})
		standings[i].Unsupported = addRuleFields(slices.Concat(standings[i].Unsupported,
			m.Policies.ForgeableFindings(c, ref, route, p.hasListener)), route.Rules)
	}
	findings := slices.Concat(a.Findings, route.Findings, facts.Denied, cannotRender(a.Parents, standings))
	if len(facts.Affected) > 0 {
		findings = append(findings, m.Policies.MissingSections(c, ref)...)
	}
	for i, p := range a.Parents {
		standing := standings[i]
		parent := conditions.RouteParent{Ref: parents[p.Index], Findings: p.Findings, Unsupported: standing.Unsupported}
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
		parent.Attached = !problem.HasError(parent.Findings, "Accepted")
		if parent.Attached {
			if parent.DataPlane = p.Gateway.DataPlane; parent.DataPlane.ReadsFiles {
				_, parent.TooLarge = flow.Fetch(c, m.tooLarge, p.Gateway.Ref)
			} else {
				_, parent.Proxied = flow.Fetch(c, m.proxied, p.Gateway.Ref)
			}
			parent.AckStates = standing.RuleStates(p.hasListener)
			if slices.ContainsFunc(parent.AckStates, func(s resource.AckState) bool { return !s.Acknowledged }) {
				m.leaveOutRefused(c, &parent, p, standing)
			}
		}
		for i, s := range parent.AckStates[:min(len(parent.AckStates), len(route.Rules))] {
			if s.Refused != "" {
				findings = append(findings, model.Finding{
					Object: ref, Parent: p.Parent, Section: route.Rules[i].Key.Name,
					Condition: conditions.Programmed, Reason: "RejectedByProxy", Field: route.Rules[i].FieldPath(),
					Message: "the proxy rejected it: " + s.Refused,
				})
			}
		}
		facts.Parents = append(facts.Parents, parent)
	}
	return conditions.RouteStatus(facts), findings
}

// leaveOutRefused leaves listeners that a proxy refused out of what a route waits for: it would wait until those are
// mended. Only a route that waits looks at them, so that they change no others.
func (m routeReports) leaveOutRefused(
	c *flow.Ctx, parent *conditions.RouteParent, p attachment, standing resource.RouteAckState,
) {
	served := func(listener model.ListenerKey) bool {
		at, _ := flow.Fetch(c, m.out.Listeners, resource.AckStateKey{
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
	if rest := standing.RuleStates(func(l model.ListenerKey) bool {
		return p.hasListener(l) &&
			!slices.Contains(parent.Refused, l.Section)
	}); rest != nil {
		parent.AckStates = rest
	}
}

// cannotRender lists what the dialects can't render of a route: what is said at every parent once, the rest for the
// parent where it is said.
func cannotRender(parents []attachment, standings []resource.RouteAckState) (list []model.Finding) {
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

// addRuleFields adds the place of the rule in the route to each finding about a rule: a dialect does not know it.
func addRuleFields(list []model.Finding, rules []model.Rule) []model.Finding {
	list = slices.Clone(list)
	for i := range list {
		at := slices.IndexFunc(rules, func(rule model.Rule) bool { return rule.Key.Name == list[i].Section })
		if at >= 0 {
			list[i].Field = rules[at].FieldPath() + list[i].Field
		}
	}
	return list
}
