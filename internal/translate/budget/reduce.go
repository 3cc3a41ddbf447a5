package budget

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// reduction is what the budgets leave of the drafts of routes.
type reduction struct {
	losing  *flow.Collection[payer, struct{}] // namespaces of routes that have some: most are not there, and cost nothing
	over    *flow.Collection[lossKey, []entry]
	parents func(*flow.Ctx, model.ObjectRef) []Parent
}

// route is a draft with what the budgets leave of its rules. A rule that is over a budget at one Gateway is so at all
// that its route is attached to: its rules are one for all.
func (o reduction) route(c *flow.Ctx, ref model.ObjectRef, draft model.Route) (model.Route, bool) {
	var lost []entry
	for _, g := range draft.Gateways {
		if _, some := flow.Fetch(c, o.losing, payer{g.Ref, ref.Namespace()}); some {
			found, _ := flow.Fetch(c, o.over, lossKey{g.Ref, ref})
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
		own, copies := split(lost, rule.Key)
		f := model.Finding{Object: ref, Section: rule.Key.Name, Condition: "Accepted", Reason: "OverBudget",
			Field: rule.Field()}
		form := model.FormWhole
		for _, e := range own {
			form = max(form, e.Form)
			f.Drops, f.Message = true, e.says(rule)
			r.Findings = append(r.Findings, f)
		}
		r.Rules[i] = rule.In(form)
		f.Drops, f.Severity = false, model.Warning
		for _, p := range parents {
			if f.Parent, f.Message = p.Ref, copiesSay(copies, p.Gateway, rule); f.Message != "" {
				r.Findings = append(r.Findings, f)
			}
		}
	}
	return r, true
}

// split are the entries of a rule, its copies apart.
func split(list []entry, rule model.RuleKey) (own, copies []entry) {
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

const lessen = "write fewer matches, hostnames or parentRefs, or exact values and prefixes in place of expressions " +
	"(an origin of CORS with a star is one)"

func (e entry) says(rule model.Rule) string {
	return fmt.Sprintf("at %s %s; %s; %s", e.Payer.Gateway, e.Reason, answersIn(rule, e.Form), lessen)
}

// copiesSay says what becomes of a rule's copies at a Gateway; "" if all are whole.
func copiesSay(copies []entry, gateway model.ObjectRef, rule model.Rule) string {
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
	return fmt.Sprintf("the copies of the rule in narrower hosts of namespace %s are over a budget: %s; there %s",
		model.Listed(namespaces), first.Reason, answersIn(rule, first.Form))
}

// answersIn says what a rule does in a form that is not whole.
func answersIn(rule model.Rule, form model.Form) string {
	_, answer := rule.Key.Route.Kind().Failure()
	reduced := rule.In(form)
	switch {
	case len(reduced.Matches) == 0:
		return "it takes no request, and other rules get what it would take"
	case form == model.FormPrefix && reduced.Matches[0].GRPC == nil:
		return fmt.Sprintf("what is below %s, and no other rule takes first, is answered with %s",
			reduced.Matches[0].Path.Value, answer)
	}
	if form == model.FormMatches && len(reduced.Matches) < len(rule.Matches) {
		return fmt.Sprintf("what it takes is answered with %s, but for expressions of paths that begin with no literal "+
			"text: these take no request", answer)
	}
	return fmt.Sprintf("what it takes is answered with %s", answer)
}
