package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// payer is a namespace at a Gateway: its budget pays.
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

func (cfg Config) load(_ *flow.Ctx, ref model.ObjectRef, r model.Route) (load, bool) {
	l := load{Order: cfg.Age(r.Created) + " " + ref.NamespacedName(), Places: r.Places}
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

// entry is a rule for which a namespace pays: its own rule at the rule's places, or the copy of a wider rule in the
// namespace's narrower hosts.
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
	lost        int // entries that are not whole
}

// mostExact is how many entries over a budget are told by how much they are over it. The message for the rest does not
// depend on the sizes of older rules, so an edit changes few statuses.
const mostExact = 100

// over says by how much a form would be over the budget; "" if there is room. A budget has a tenth more room for rules
// in FormPrefix, so that those for which there is no room still answer an error.
func (b budget) over(s model.Size, form model.Form) string {
	limit := b.limit
	if form == model.FormPrefix {
		limit = limit.Plus(model.Size{Routes: limit.Routes / 10, Expressions: limit.Expressions / 10})
	}
	sum := b.used.Plus(s)
	switch {
	case limit.Routes > 0 && s.Routes > 0 && sum.Routes > limit.Routes:
		return b.says("route", s.Routes, b.used.Routes, b.limit.Routes)
	case limit.Expressions > 0 && s.Expressions > 0 && sum.Expressions > limit.Expressions:
		return b.says("expression", s.Expressions, b.used.Expressions, b.limit.Expressions)
	}
	return ""
}

func (b budget) says(what string, own, used, limit int) string {
	budget := fmt.Sprintf("the budget of %d for %s (--%s-%ss)", limit, b.of, b.flag, what)
	if own != 1 {
		what += "s"
	}
	switch {
	case used == 0:
		return fmt.Sprintf("it has %d %s, %d over %s", own, what, own-limit, budget)
	case b.lost < mostExact:
		return fmt.Sprintf("it has %d %s beside %d that are older, %d over %s", own, what, used, own+used-limit, budget)
	}
	return fmt.Sprintf("it has %d %s, for which older rules leave no room in %s", own, what, budget)
}

// admit pays for an entry, in the first form for which there is room. FormNone has no size: there is always room.
func (b *budget) admit(e *entry) {
	was := e.Form
	for {
		over := b.over(e.in(e.Form), e.Form)
		if over == "" {
			break
		}
		e.Form++
		if e.Reason == "" {
			e.Reason = over
		}
	}
	b.used = b.used.Plus(e.in(e.Form))
	if e.Form != was {
		b.lost++
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
	if whole.over(used, model.FormWhole) == "" {
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

// lossKey names a route that has reduced rules, or reduced copies of rules, at a Gateway.
type lossKey struct{ Gateway, Route model.ObjectRef }

// Owner is the Gateway.
func (k lossKey) Owner() model.ObjectRef { return k.Gateway }

func (e entry) lossKey() lossKey { return lossKey{e.Payer.Gateway, e.Rule.Route} }

func (e entry) payer() payer { return e.Payer }

// owner is the namespace of the rule.
func (e entry) owner() payer { return payer{e.Payer.Gateway, e.Rule.Route.Namespace()} }

// byKeys hands out entries by what they are looked up by.
func byKeys[K comparable](entries []entry, key func(entry) K, emit func(K, []entry)) {
	var keys []K
	list := map[K][]entry{}
	for _, e := range entries {
		k := key(e)
		if list[k] == nil {
			keys = append(keys, k)
		}
		list[k] = append(list[k], e)
	}
	for _, k := range keys {
		emit(k, list[k])
	}
}

// Config is what budgets are told.
type Config struct {
	Limits model.Budgets
	// Age sorts routes by when they were created, the oldest first.
	Age func(created time.Time) string
	// Parents are the parentRefs of a route that are answered.
	Parents func(*flow.Ctx, model.ObjectRef) []Parent
}

// Parent is a parentRef that leads to a Gateway.
type Parent struct {
	Ref     model.ParentRef
	Gateway model.ObjectRef
}

// New makes the routes out of their drafts, and tells what is left of copies in narrower hosts.
func New(
	drafts *flow.Collection[model.ObjectRef, model.Route], cfg Config,
) (routes *flow.Collection[model.ObjectRef, model.Route], reduced *flow.Collection[model.DomainKey, model.Reduced]) {
	loads := flow.Map(drafts, "load", cfg.load)
	b := budgets{
		limits: cfg.Limits, copies: newCopies(loads),
		owned: flow.Group(loads, "loads by namespace", payers, func(_ model.ObjectRef, l load) string { return l.Order }),
	}
	accounts := flow.Group(flow.Map(b.owned, "account", b.account), "accounts by Gateway",
		func(p payer, _ account) []model.ObjectRef { return []model.ObjectRef{p.Gateway} }, flow.ByKey)
	verdicts := flow.Map(accounts, "verdict", b.verdict)
	over := flow.Derive(verdicts, "over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(lossKey, []entry)) {
			byKeys(v.Lost, entry.lossKey, emit)
		})
	losing := flow.Derive(verdicts, "namespaces over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(payer, struct{})) {
			byKeys(v.Lost, entry.owner, func(p payer, _ []entry) { emit(p, struct{}{}) })
		})
	copies := flow.Derive(verdicts, "copies over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(payer, model.Reduced)) {
			lost := slices.DeleteFunc(slices.Clone(v.Lost), func(e entry) bool { return !e.Copy })
			byKeys(lost, entry.payer, func(p payer, list []entry) {
				forms := make(model.Reduced, len(list))
				for _, e := range list {
					forms[e.Rule] = e.Form
				}
				emit(p, forms)
			})
		})
	return flow.Map(drafts, "plan/route", reduction{losing, over, cfg.Parents}.route), b.copies.reduced(copies)
}
