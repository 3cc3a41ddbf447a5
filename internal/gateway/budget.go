package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Budgets bound what the routes of a Gateway make its proxies keep. What a proxy keeps is counted after a rule was
// multiplied: by its matches, listeners and hostnames, and by the narrower hosts that it is copied into. A namespace
// pays for its rules and, after these, for the copies that others' wider rules have in its hosts: so nobody pays for
// another one's hosts, and nobody's wide rule displaces another one's rules.
//
//	route/draft -> load -+-> by namespace -> account --> by Gateway -> verdict -> over -> plan/route
//	                     +-> copies.go: hosts, counted -^                  +-> copies over -> plan/reduced
//
// An edit that changes no size ends at its load.

// payer is whose budget something counts in.
type payer struct {
	Gateway   model.ObjectRef
	Namespace string
}

// load is what a route asks of proxies.
type load struct {
	Order  string // of its age and name
	Rules  []ruleLoad
	Places []model.Place
}

// ruleLoad has a rule's sizes at one domain of one listener.
type ruleLoad struct {
	Key   model.RuleKey
	Sizes [model.FormNone]model.Size
}

func loadOf(_ *flow.Ctx, ref model.ObjectRef, r model.Route) (load, bool) {
	l := load{Order: ageOrder(r.Created) + " " + ref.NamespacedName(), Places: r.Places}
	for _, rule := range r.Rules {
		l.Rules = append(l.Rules, ruleLoad{rule.Key, rule.Forms()})
	}
	return l, len(r.Places) > 0
}

// payers are those that a route's rules count for.
func payers(ref model.ObjectRef, l load) (list []payer) {
	for _, p := range l.Places {
		list = append(list, payer{p.Gateway, ref.Namespace()})
	}
	return list
}

// domains counts those of the route at a Gateway.
func (l load) domains(gateway model.ObjectRef) (n int) {
	for _, p := range l.Places {
		if p.Gateway == gateway {
			n += len(p.Domains)
		}
	}
	return n
}

// entry is a rule where a namespace pays for it: at its own places or, of a copy, in that namespace's narrower hosts.
type entry struct {
	Rule   model.RuleKey
	Payer  payer
	Copy   bool
	Order  string // own ones before copies, then by age
	Sizes  [model.FormNone]model.Size
	Form   model.Form
	Reason string // why it is not whole: which budget it is over, and by how much
}

// in is the size of a form.
func (e entry) in(form model.Form) model.Size {
	if form == model.FormNone {
		return model.Size{}
	}
	return e.Sizes[form]
}

// budget is one that entries are paid from, the oldest first.
type budget struct {
	limit, used model.Size
	of          string // "a rule", "namespace shop"
	flag        string
}

// numbered is a number of things, whose plural has an s.
func numbered(n int, things string) string {
	if n == 1 {
		things = strings.TrimSuffix(things, "s")
	}
	return fmt.Sprintf("%d %s", n, things)
}

// over says by how much something would be over the budget; "" if there is room.
func (b budget) over(s model.Size) string {
	sum := b.used.Plus(s)
	say := func(sum, used, limit int, what string) string {
		beside := ""
		if used > 0 {
			beside = fmt.Sprintf(" beside %d that are older", used)
		}
		return fmt.Sprintf("it has %s%s, %d over the budget of %d for %s (--%s-%s)", numbered(sum-used, what), beside,
			sum-limit, limit, b.of, b.flag, what)
	}
	switch {
	case b.limit.Routes > 0 && s.Routes > 0 && sum.Routes > b.limit.Routes:
		return say(sum.Routes, b.used.Routes, b.limit.Routes, "routes")
	case b.limit.Expressions > 0 && s.Expressions > 0 && sum.Expressions > b.limit.Expressions:
		return say(sum.Expressions, b.used.Expressions, b.limit.Expressions, "expressions")
	}
	return ""
}

// admit pays for an entry, in the first form for which there is room. FormNone has no size: there is always room.
func (b *budget) admit(e *entry) {
	for ; ; e.Form++ {
		over := b.over(e.in(e.Form))
		if over == "" {
			b.used = b.used.Plus(e.in(e.Form))
			return
		}
		if e.Reason == "" {
			e.Reason = over
		}
	}
}

// budgets are where what is counted is looked up.
type budgets struct {
	limits model.Budgets
	owned  *flow.Collection[payer, flow.Members[model.ObjectRef, load]] // in the order of age
	copies copies
}

// entries are what a namespace pays for, in the order in which it does, as far as its own budget goes.
func (b budgets) entries(c *flow.Ctx, p payer, yield func(entry)) {
	whole := budget{limit: b.limits.Namespace, of: "namespace " + p.Namespace, flag: "namespace"}
	pay := func(e entry) {
		alone := budget{limit: b.limits.Rule, of: "a rule", flag: "rule"}
		if !e.Copy {
			alone.admit(&e)
		}
		whole.admit(&e)
		yield(e)
	}
	owned, _ := flow.Fetch(c, b.owned, p)
	for _, l := range owned.All() {
		for _, rule := range l.Rules {
			pay(rule.entry(p, l.Order, l.domains(p.Gateway)))
		}
	}
	for _, wide := range b.copies.in(c, p) {
		wide.Copy = true
		pay(wide)
	}
}

func (r ruleLoad) entry(p payer, order string, times int) entry {
	e := entry{Rule: r.Key, Payer: p, Order: order}
	for form, size := range r.Sizes {
		e.Sizes[form] = size.Times(times)
	}
	return e
}

// account is what a namespace pays for at a Gateway.
type account struct {
	Used model.Size
	Lost []entry // those that are not whole
}

func (b budgets) account(
	c *flow.Ctx, p payer, _ flow.Members[model.ObjectRef, load],
) (a account, _ bool) {
	b.entries(c, p, func(e entry) {
		if a.Used = a.Used.Plus(e.in(e.Form)); e.Form != model.FormWhole {
			a.Lost = append(a.Lost, e)
		}
	})
	return a, true
}

// verdict has the entries of a Gateway that are not whole; most have none, and no verdict.
type verdict struct{ Lost []entry }

func (b budgets) verdict(
	c *flow.Ctx, gateway model.ObjectRef, accounts flow.Members[payer, account],
) (v verdict, _ bool) {
	var used model.Size
	for _, a := range accounts.All() {
		used = used.Plus(a.Used)
		v.Lost = append(v.Lost, a.Lost...)
	}
	whole := budget{limit: b.limits.Gateway, of: gateway.String(), flag: "gateway"}
	if whole.over(used) == "" {
		return v, len(v.Lost) > 0
	}
	var all []entry
	for p := range accounts.All() {
		b.entries(c, p, func(e entry) { all = append(all, e) })
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(btoi(a.Copy)-btoi(b.Copy), strings.Compare(a.Order, b.Order))
	})
	v.Lost = nil
	for _, e := range all {
		if whole.admit(&e); e.Form != model.FormWhole {
			v.Lost = append(v.Lost, e)
		}
	}
	return v, true
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Owner is the Gateway.
func (p payer) Owner() model.ObjectRef { return p.Gateway }

// by hands out the entries of a verdict by namespaces.
func by(v verdict, namespace func(entry) string, emit func(payer, []entry)) {
	var keys []payer
	list := map[payer][]entry{}
	for _, e := range v.Lost {
		k := payer{e.Payer.Gateway, namespace(e)}
		if list[k] == nil {
			keys = append(keys, k)
		}
		list[k] = append(list[k], e)
	}
	for _, k := range keys {
		emit(k, list[k])
	}
}

// newBudgets makes the routes out of their drafts, and what is left of copies.
func newBudgets(
	drafts *flow.Collection[model.ObjectRef, model.Route], attachments *flow.Collection[model.ObjectRef, attachments],
	limits model.Budgets,
) (*flow.Collection[model.ObjectRef, model.Route], *flow.Collection[model.DomainKey, model.Reduced]) {
	loads := flow.Map(drafts, "load", loadOf)
	b := budgets{
		limits: limits, copies: newCopies(loads),
		owned: flow.Group(loads, "loads by namespace", payers, func(_ model.ObjectRef, l load) string { return l.Order }),
	}
	accounts := flow.Group(flow.Map(b.owned, "account", b.account), "accounts by Gateway",
		func(p payer, _ account) []model.ObjectRef { return []model.ObjectRef{p.Gateway} }, byKey)
	verdicts := flow.Map(accounts, "verdict", b.verdict)
	over := flow.Derive(verdicts, "over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(payer, []entry)) {
			by(v, func(e entry) string { return e.Rule.Route.Namespace() }, emit)
		})
	copies := flow.Derive(verdicts, "copies over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(payer, model.Reduced)) {
			v.Lost = slices.DeleteFunc(slices.Clone(v.Lost), func(e entry) bool { return !e.Copy })
			by(v, func(e entry) string { return e.Payer.Namespace }, func(k payer, list []entry) {
				forms := make(model.Reduced, len(list))
				for _, e := range list {
					forms[e.Rule] = e.Form
				}
				emit(k, forms)
			})
		})
	return flow.Map(drafts, "plan/route", budgeted{over, attachments}.route), b.copies.reduced(copies)
}
