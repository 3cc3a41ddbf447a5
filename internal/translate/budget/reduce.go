package budget

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// ruleDegrader is what the budgets leave of the drafts of routes.
type ruleDegrader struct {
	// namespaces of routes that have some: most are not there, and cost nothing
	degradedPayers *flow.Collection[payer, struct{}]
	excesses       *flow.Collection[degradedKey, []entry]
	parents        func(*flow.Ctx, model.ObjectRef) []Parent
}

// degradeRoute is a draft with what the budgets leave of its rules. A rule that is over a budget at one Gateway is so
// at all that its route is attached to: its rules are one for all.
func (o ruleDegrader) degradeRoute(c *flow.Ctx, ref model.ObjectRef, draft model.Route) (model.Route, bool) {
	var lost []entry
	for _, g := range draft.Gateways {
		if _, some := flow.Fetch(c, o.degradedPayers, payer{g.Ref, ref.Namespace()}); some {
			found, _ := flow.Fetch(c, o.excesses, degradedKey{g.Ref, ref})
			lost = append(lost, found...)
		}
	}
	if len(lost) == 0 {
		return draft, true
	}
	r := draft
	r.Rules, r.Findings = slices.Clone(draft.Rules), slices.Clone(draft.Findings)
	parents := o.parents(c, ref)
	for i, rule := range draft.Rules {
		own, copies := splitEntries(lost, rule.Key)
		f := model.Finding{Object: ref, Section: rule.Key.Name, Condition: "Accepted", Reason: "OverBudget",
			Field: rule.FieldPath()}
		form := model.NotDegraded
		for _, e := range own {
			form = max(form, e.Degradation)
			f.Drops, f.Message = true, e.lossMessage(rule)
			r.Findings = append(r.Findings, f)
		}
		r.Rules[i] = rule.DegradeTo(form)
		f.Drops, f.Severity = false, model.Warning
		for _, p := range parents {
			if f.Parent, f.Message = p.Ref, describeCopies(copies, p.Gateway, rule); f.Message != "" {
				r.Findings = append(r.Findings, f)
			}
		}
	}
	return r, true
}

// splitEntries are the entries of a rule, its copies apart.
func splitEntries(list []entry, rule model.RuleKey) (own, copies []entry) {
	for _, e := range list {
		switch {
		case e.Rule != rule:
		case e.Copy:
			copies = append(copies, e)
		default:
			own = append(own, e)
		}
	}
	return own, copies
}

const reduceHint = "write fewer matches, hostnames or parentRefs, or replace expressions by exact values or " +
	"prefixes (a CORS origin with * is an expression)"

func (e entry) lossMessage(rule model.Rule) string {
	return fmt.Sprintf("at %s %s; %s; %s", e.Payer.Gateway, e.Reason, describeAnswer(rule, e.Degradation), reduceHint)
}

// describeCopies says what becomes of a rule's copies at a Gateway; "" if all are whole.
func describeCopies(copies []entry, gateway model.ObjectRef, rule model.Rule) string {
	var namespaces []string
	var first entry
	for _, e := range copies {
		if e.Payer.Gateway == gateway {
			if len(namespaces) == 0 {
				first = e
			}
			namespaces = append(namespaces, e.Payer.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return ""
	}
	return fmt.Sprintf("the copies of the rule for more specific hosts of namespace %s are over a budget: %s; for "+
		"these hosts %s",
		model.JoinSome(namespaces), first.Reason, describeAnswer(rule, first.Degradation))
}

// describeAnswer says what a rule does in a form that is not whole.
func describeAnswer(rule model.Rule, form model.Degradation) string {
	_, answer := rule.Key.Route.Kind().FailureStatus()
	reduced := rule.DegradeTo(form)
	switch {
	case len(reduced.Matches) == 0:
		return "the rule matches no request, and other rules get its requests"
	case form == model.DegradedPrefix && reduced.Matches[0].GRPC == nil:
		return fmt.Sprintf("requests below %s get %s, unless an earlier rule matches them",
			reduced.Matches[0].Path.Value, answer)
	}
	if form == model.DegradedNoRegex && len(reduced.Matches) < len(rule.Matches) {
		return fmt.Sprintf("its requests get %s, but path expressions that begin with no literal text match no "+
			"request", answer)
	}
	return fmt.Sprintf("its requests get %s", answer)
}
