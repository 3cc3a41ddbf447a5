package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
)

// placeReport is what is to be told of policies at one place.
type placeReport struct {
	Findings   []Finding
	Superseded []supersededAt
	Counts     []model.ObjectRef // policies that count here; sorted, each once
	Large      []largePiece      // of each rule
	Closed     []closedPlace
}

// closedPlace is a place where connections are closed because of what a policy states.
type closedPlace struct {
	Policy model.ObjectRef
	At     string // "listener http of Gateway infra/edge"
}

// supersededAt is a field that does not count somewhere.
type supersededAt struct {
	SupersededField
	Feature string
	At      string // "rule orders of HTTPRoute shop/web"
}

func (t *placeReport) addPiece(p Piece, at string) {
	t.Findings = append(t.Findings, p.Findings...)
	for _, f := range p.Fields {
		t.Counts = append(t.Counts, f.From.Policy)
	}
	if p.Disabled.Policy != (model.ObjectRef{}) {
		t.Counts = append(t.Counts, p.Disabled.Policy)
	}
	for _, l := range p.Superseded {
		t.Superseded = append(t.Superseded, supersededAt{l, p.Feature, at})
	}
	for _, f := range p.Findings {
		if here := (closedPlace{f.Policy, at}); p.Rendered.OfListener().Closed && f.Severity == model.Error &&
			!slices.Contains(t.Closed, here) {
			t.Closed = append(t.Closed, here)
		}
	}
}

// mentionedPolicies are the policies that something is told about.
func (t *placeReport) mentionedPolicies() []model.ObjectRef {
	all := slices.Clone(t.Counts)
	for _, f := range t.Findings {
		all = append(all, f.Policy)
	}
	for _, l := range t.Superseded {
		all = append(all, l.From.Policy)
	}
	slices.SortFunc(all, model.ObjectRef.Compare)
	return slices.DeleteFunc(slices.Compact(all), func(r model.ObjectRef) bool { return r == model.ObjectRef{} })
}

// urgencyOrder orders what is told of a policy: errors first, then what does not count.
func (t *placeReport) urgencyOrder() string {
	switch {
	case slices.ContainsFunc(t.Findings, func(f Finding) bool { return f.Severity == model.Error }):
		return "0"
	case len(t.Superseded) > 0:
		return "1"
	}
	return "2"
}

// newPlaceReports has what is told, by policy.
func (m *Translator) newPlaceReports() *flow.Collection[model.ObjectRef, flow.Members[settingsKey, placeReport]] {
	backends := flow.FromRenamed(m.Backends, func(k plan.BackendKey) settingsKey { return settingsKey{Backend: k} },
		func(_ *flow.Ctx, k plan.BackendKey, b BackendPieces) (placeReport, bool) {
			var t placeReport
			for _, p := range b.Pieces {
				t.addPiece(p.Piece, backendPlace(k))
			}
			return t, len(t.mentionedPolicies()) > 0
		})
	all := collectSettings(m, "told", func(k LevelKey, l levelFeature) (placeReport, bool) {
		var t placeReport
		t.addPiece(l.Piece, k.String())
		return t, len(t.mentionedPolicies()) > 0
	}, func(_ *flow.Ctx, ref model.ObjectRef, r RoutePieces) (placeReport, bool) {
		var t placeReport
		for rule, p := range r.allPieces() {
			t.addPiece(p.Piece, fmt.Sprintf("rule %s of %s", rule.Name, ref))
			if l, is := largeOf(p.Piece); is {
				t.Large = append(t.Large, l)
			}
		}
		t.Findings = append(t.Findings, r.ruleFindings()...)
		return t, len(t.mentionedPolicies()) > 0
	}, func(k model.PortKey, p PortPieces) (placeReport, bool) {
		var t placeReport
		for at, piece := range p.allPieces(k) {
			t.addPiece(piece.Piece, at)
		}
		return t, len(t.mentionedPolicies()) > 0
	}, backends)
	return flow.Group(all, "policy/mentions",
		func(_ settingsKey, t placeReport) []model.ObjectRef { return t.mentionedPolicies() },
		func(_ settingsKey, t placeReport) string { return t.urgencyOrder() })
}

// reporter makes reports on policies.
type reporter struct {
	*Translator
	out resource.Outputs
	// proxied are the Gateways with a proxy that has acknowledged its configuration.
	proxied         *flow.Collection[model.ObjectRef, struct{}]
	gatewaysByClass *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, model.Gateway]] // Gateways by class
	// backends are those that policies reach, by object
	backends *flow.Collection[model.ObjectRef, flow.Members[plan.BackendKey, BackendPieces]]
	// methods are the routes with methods of authentication of their own, under the kind SecurityPolicy.
	methods *flow.Collection[model.Kind, flow.Members[settingsKey, notedNeeds]]
	// users are the routes with rules that name an XBackend.
	users *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, []model.ObjectRef]]
}

// xbackendUsers are the routes that name XBackends, by these.
func (s *Store) xbackendUsers(
	routes *flow.Collection[model.ObjectRef, model.Route],
) *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, []model.ObjectRef]] {
	named := flow.Map(routes, "policy/xbackends-named",
		func(_ *flow.Ctx, _ model.ObjectRef, r model.Route) ([]model.ObjectRef, bool) {
			var list []model.ObjectRef
			for _, rule := range r.Rules {
				for _, b := range rule.Backends {
					if s.ruleBackends(b.Backend.Object.Kind()) && !slices.Contains(list, b.Backend.Object) {
						list = append(list, b.Backend.Object)
					}
				}
			}
			return list, len(list) > 0
		})
	return flow.Group(named, "policy/xbackend-users",
		func(_ model.ObjectRef, list []model.ObjectRef) []model.ObjectRef { return list }, flow.ByKey)
}

// NewReports are those on policies of all kinds.
func (m *Translator) NewReports(
	out resource.Outputs, proxied *flow.Collection[model.ObjectRef, struct{}],
) (list []plan.Reporter) {
	if len(m.Store.Kinds) == 0 {
		return nil
	}
	r := reporter{Translator: m, out: out, proxied: proxied}
	r.methods = m.methodsBy()
	r.users = m.Store.xbackendUsers(m.inputs.Plan.Routes)
	r.gatewaysByClass = flow.Group(m.inputs.Plan.Gateways, "policy/gateways-by-class",
		func(_ model.ObjectRef, g model.Gateway) []model.ObjectRef { return []model.ObjectRef{g.Class} }, flow.ByKey)
	r.backends = flow.Group(m.Backends, "policy/backends-by-object",
		func(k plan.BackendKey, _ BackendPieces) []model.ObjectRef { return []model.ObjectRef{k.Backend.Object} }, flow.ByKey)
	for _, k := range m.Store.allKinds() {
		list = append(list, plan.NewReporter(k, flow.Map(m.Store.specsOf(k), "report/"+k.QualifiedName(), r.reportPolicy)))
	}
	return list
}

func (r reporter) reportPolicy(
	c *flow.Ctx, ref model.ObjectRef, _ input.Object[input.PolicySpec],
) (plan.Report[gatewayv1.PolicyStatus], bool) {
	p, _ := flow.Fetch(c, r.Store.policies, ref)
	facts := conditions.PolicyFacts{
		Generation: p.Generation, Controller: model.ControllerName, Foreign: r.Store.isForeign(ref.Kind()),
	}
	all := slices.Concat(p.Targets, r.findSelected(c, ref, p))
	for _, t := range all {
		r.addTargetAncestors(c, ref, t, &facts)
	}
	naming, _ := flow.Fetch(c, r.Store.routesByPolicy, ref)
	looked := 0
	for route := range naming.All() {
		if looked++; looked <= maxTargets {
			r.byFilters(c, ref, route, &facts)
		}
	}
	r.sortAncestors(c, facts.Ancestors)
	r.gatherFindings(c, ref, &facts)
	facts.Findings = append(facts.Findings, append(r.Store.misplacedFindings(ref, p), r.Store.notOfPools(ref, p)...)...)
	facts.Findings = dropDuplicates(append(facts.Findings, r.withoutTLS(c, ref, p, all)...))
	facts.Findings = append(facts.Findings, r.withoutCertificates(c, ref, p, facts.Ancestors)...)
	facts.Findings = slices.Concat(facts.Findings, r.offNothing(c, ref, p), r.unidentifiedFindings(c, ref, p,
		facts.Findings))
	findings := slices.Clip(facts.Findings)
	switch {
	case !p.hasTargets() && naming.Len() == 0:
		findings = append(findings, r.reachesNothing(ref))
	case p.hasTargets() && p.statesNothing():
		findings = append(findings, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec",
			Message: "it states nothing, so it changes nothing for its targets",
		})
	case p.hasTargets() && len(all) == 0:
		findings = append(findings, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.targetSelectors",
			Message: "no object of the policy's namespace has these labels, so the policy reaches nothing",
		})
	}
	for _, a := range facts.Ancestors {
		if why := cmp.Or(a.Missing, a.Invalid); why != "" {
			findings = append(findings, model.Finding{
				Object: ref, Condition: "Accepted", Reason: "TargetNotFound", Field: "spec.targetRefs", Message: why,
			})
		}
	}
	return plan.Report[gatewayv1.PolicyStatus]{UID: p.UID, Status: conditions.PolicyStatus(facts), Findings: findings},
		true
}

// findSelected are the targets that a policy selects and does not name.
func (r reporter) findSelected(c *flow.Ctx, ref model.ObjectRef, p *policy) (list []Target) {
	if len(p.Selectors) == 0 {
		return nil
	}
	targets, _ := flow.Fetch(c, r.Store.selected, ref)
	for k := range targets.All() {
		if len(list) == maxTargets {
			break
		}
		list = append(list, k.Target)
	}
	return list
}

// maxTargets is how many targets of a policy are looked at for its status. The policy counts at all of them.
const maxTargets = 1000

// sortAncestors puts Gateways first, the oldest first, and then targets that lead to none.
func (r reporter) sortAncestors(c *flow.Ctx, list []conditions.PolicyAncestor) {
	keys := map[model.ObjectRef]string{}
	for _, a := range list {
		if o, found := flow.Fetch(c, r.inputs.Sources.Gateways.Collection(), a.Object); found {
			keys[a.Object] = ageOrder(o.Meta.Created) + " " + a.Object.NamespacedName()
		}
	}
	slices.SortStableFunc(list, func(a, b conditions.PolicyAncestor) int {
		return cmp.Or(cmp.Compare(ancestorRank(a), ancestorRank(b)), cmp.Compare(keys[a.Object], keys[b.Object]))
	})
}

// ancestorRank sorts Gateways before targets that lead to none.
func ancestorRank(a conditions.PolicyAncestor) string {
	if a.Missing+a.Invalid+a.Unserved == "" {
		return "0"
	}
	return "1"
}

// maxNamed is how many things of one sort a condition names.
const maxNamed = 3

// gatherFindings gathers what is wrong with a policy, and what of it does not count.
func (r reporter) gatherFindings(c *flow.Ctx, ref model.ObjectRef, facts *conditions.PolicyFacts) {
	members, _ := flow.Fetch(c, r.placeReports, ref)
	counts := false
	lost := map[string][]string{} // fields, by what became of them
	rules := map[largePiece]int{}
	for k, t := range members.All() {
		for _, at := range t.Closed {
			if at.Policy == ref {
				facts.Closed = append(facts.Closed, conditions.ClosedPlace{Gateway: k.Port.Gateway, At: at.At})
			}
		}
		counts = counts || slices.Contains(t.Counts, ref)
		for _, f := range t.Findings {
			if f.Policy == ref && len(facts.Findings) < maxFindings {
				facts.Findings = append(facts.Findings, f.toModel())
			}
		}
		for _, l := range t.Large {
			rules[l]++
		}
		for _, l := range t.Superseded {
			if l.From.Policy == ref {
				what := fmt.Sprintf("superseded by %s for %s", l.By, l.At)
				lost[what] = append(lost[what], strings.TrimPrefix(fieldOf(l.Feature, l.Path), "spec."))
			}
		}
	}
	facts.Findings = dropDuplicates(append(facts.Findings, warnRepeated(ref, rules)...))
	for i, what := range slices.Sorted(maps.Keys(lost)) {
		if i == maxNamed {
			facts.MoreSuperseded = len(lost) - maxNamed
			break
		}
		facts.Superseded = append(facts.Superseded, strings.Join(lost[what], ", ")+": "+what)
	}
	facts.Overridden = !counts && len(lost) > 0
}

// maxFindings is how many findings a report has of one policy.
const maxFindings = 100

func dropDuplicates(list []model.Finding) (once []model.Finding) {
	for _, f := range list {
		if !slices.Contains(once, f) {
			once = append(once, f)
		}
	}
	return once
}

func (f Finding) toModel() model.Finding {
	return model.Finding{
		Object: f.Policy, Severity: f.Severity, Condition: f.Condition, Reason: f.Reason, Field: f.Field, Message: f.Message,
	}
}
