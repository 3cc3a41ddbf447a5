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

// routeCost is what a route asks of proxies.
type routeCost struct {
	Order  string // of its age and name
	Rules  []ruleCost
	Places []model.RouteListener
}

// ruleCost has a rule's sizes at one domain of one listener.
type ruleCost struct {
	Key   model.RuleKey
	Sizes [model.DegradedNoRequests]model.Size
}

func (cfg Config) routeCostOf(_ *flow.Ctx, ref model.ObjectRef, r model.Route) (routeCost, bool) {
	l := routeCost{Order: cfg.Age(r.Created) + " " + ref.NamespacedName(), Places: r.Listeners}
	for _, rule := range r.Rules {
		l.Rules = append(l.Rules, ruleCost{rule.Key, rule.DegradedSizes()})
	}
	return l, len(r.Listeners) > 0
}

// payersOf are those that a route's rules count for.
func payersOf(ref model.ObjectRef, l routeCost) (list []payer) {
	for _, p := range l.Places {
		list = append(list, payer{p.Gateway, ref.Namespace()})
	}
	return list
}

// countDomains counts those of the route at a Gateway.
func (l routeCost) countDomains(gateway model.ObjectRef) (n int) {
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
	Rule        model.RuleKey
	Payer       payer
	Copy        bool
	Order       string // own ones before copies, then by age
	Sizes       [model.DegradedNoRequests]model.Size
	Degradation model.Degradation
	Reason      string // why it is not whole: which budget it is over, and by how much
}

// sizeIn is the size of a form.
func (e entry) sizeIn(form model.Degradation) model.Size {
	if form == model.DegradedNoRequests {
		return model.Size{}
	}
	return e.Sizes[form]
}

// budget is one that entries are paid from, the oldest first.
type budget struct {
	limit, used   model.Size
	subject       string // "a rule", "namespace shop"
	flag          string
	degradedCount int // entries that are not whole
}

// maxExact is how many entries over a budget are told by how much they are over it. The message for the rest does not
// depend on the sizes of older rules, so an edit changes few statuses.
const maxExact = 100

// checkExcess says by how much a form would be over the budget; "" if there is room. A budget has a tenth more room for
// rules in FormPrefix, so that those for which there is no room still answer an error.
func (b budget) checkExcess(s model.Size, form model.Degradation) string {
	limit := b.limit
	if form == model.DegradedPrefix {
		limit = limit.Plus(model.Size{Routes: limit.Routes / 10, Expressions: limit.Expressions / 10})
	}
	sum := b.used.Plus(s)
	switch {
	case limit.Routes > 0 && s.Routes > 0 && sum.Routes > limit.Routes:
		return b.excessMessage("route", s.Routes, b.used.Routes, b.limit.Routes)
	case limit.Expressions > 0 && s.Expressions > 0 && sum.Expressions > limit.Expressions:
		return b.excessMessage("expression", s.Expressions, b.used.Expressions, b.limit.Expressions)
	}
	return ""
}

func (b budget) excessMessage(what string, own, used, limit int) string {
	budget := fmt.Sprintf("the budget of %d for %s (--%s-%ss)", limit, b.subject, b.flag, what)
	if own != 1 {
		what += "s"
	}
	switch {
	case used == 0:
		return fmt.Sprintf("it has %d %s, %d over %s", own, what, own-limit, budget)
	case b.degradedCount < maxExact:
		return fmt.Sprintf("it has %d %s and older rules have %d, together %d over %s",
			own, what, used, own+used-limit, budget)
	}
	return fmt.Sprintf("it has %d %s, but older rules use up %s", own, what, budget)
}

// admitEntry pays for an entry, in the first form for which there is room. FormNone has no size: there is always room.
func (b *budget) admitEntry(e *entry) {
	was := e.Degradation
	for {
		over := b.checkExcess(e.sizeIn(e.Degradation), e.Degradation)
		if over == "" {
			break
		}
		e.Degradation++
		if e.Reason == "" {
			e.Reason = over
		}
	}
	b.used = b.used.Plus(e.sizeIn(e.Degradation))
	if e.Degradation != was {
		b.degradedCount++
	}
}

// budgets are where what is counted is looked up.
type budgets struct {
	limits model.Budgets
	owned  *flow.Collection[payer, flow.Members[model.ObjectRef, routeCost]] // in the order of age
	copies hostCopies
}

// visitEntries are what a namespace pays for, in the order in which it does, as far as its own budget goes.
func (b budgets) visitEntries(c *flow.Ctx, p payer, yield func(entry)) {
	whole := budget{limit: b.limits.Namespace, subject: "namespace " + p.Namespace, flag: "namespace"}
	pay := func(e entry) {
		alone := budget{limit: b.limits.Rule, subject: "a rule", flag: "rule"}
		if !e.Copy {
			alone.admitEntry(&e)
		}
		whole.admitEntry(&e)
		yield(e)
	}
	owned, _ := flow.Fetch(c, b.owned, p)
	for _, l := range owned.All() {
		for _, rule := range l.Rules {
			pay(rule.newEntry(p, l.Order, l.countDomains(p.Gateway)))
		}
	}
	for _, wide := range b.copies.entriesFor(c, p) {
		wide.Copy = true
		pay(wide)
	}
}

func (r ruleCost) newEntry(p payer, order string, times int) entry {
	e := entry{Rule: r.Key, Payer: p, Order: order}
	for form, size := range r.Sizes {
		e.Sizes[form] = size.Times(times)
	}
	return e
}

// account is what a namespace pays for at a Gateway.
type account struct {
	Used     model.Size
	Degraded []entry // those that are not whole
}

func (b budgets) makeAccount(
	c *flow.Ctx, p payer, _ flow.Members[model.ObjectRef, routeCost],
) (a account, _ bool) {
	b.visitEntries(c, p, func(e entry) {
		if a.Used = a.Used.Plus(e.sizeIn(e.Degradation)); e.Degradation != model.NotDegraded {
			a.Degraded = append(a.Degraded, e)
		}
	})
	return a, true
}

// verdict has the entries of a Gateway that are not whole; most have none, and no verdict.
type verdict struct{ Degraded []entry }

func (b budgets) makeVerdict(
	c *flow.Ctx, gateway model.ObjectRef, accounts flow.Members[payer, account],
) (v verdict, _ bool) {
	var used model.Size
	for _, a := range accounts.All() {
		used = used.Plus(a.Used)
		v.Degraded = append(v.Degraded, a.Degraded...)
	}
	whole := budget{limit: b.limits.Gateway, subject: gateway.String(), flag: "gateway"}
	if whole.checkExcess(used, model.NotDegraded) == "" {
		return v, len(v.Degraded) > 0
	}
	var all []entry
	for p := range accounts.All() {
		b.visitEntries(c, p, func(e entry) { all = append(all, e) })
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(boolToInt(a.Copy)-boolToInt(b.Copy), strings.Compare(a.Order, b.Order))
	})
	v.Degraded = nil
	for _, e := range all {
		if whole.admitEntry(&e); e.Degradation != model.NotDegraded {
			v.Degraded = append(v.Degraded, e)
		}
	}
	return v, true
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Owner is the Gateway.
func (p payer) Owner() model.ObjectRef { return p.Gateway }

// degradedKey names a route that has reduced rules, or reduced copies of rules, at a Gateway.
type degradedKey struct{ Gateway, Route model.ObjectRef }

// Owner is the Gateway.
func (k degradedKey) Owner() model.ObjectRef { return k.Gateway }

func (e entry) degradedKeyOf() degradedKey { return degradedKey{e.Payer.Gateway, e.Rule.Route} }

func (e entry) payerOf() payer { return e.Payer }

// ruleOwner is the namespace of the rule.
func (e entry) ruleOwner() payer { return payer{e.Payer.Gateway, e.Rule.Route.Namespace()} }

// groupByKey hands out entries by what they are looked up by.
func groupByKey[K comparable](entries []entry, key func(entry) K, emit func(K, []entry)) {
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
) (routes *flow.Collection[model.ObjectRef, model.Route], reduced *flow.Collection[model.DomainKey,
	model.DegradedRules]) {
	loads := flow.Map(drafts, "load", cfg.routeCostOf)
	b := budgets{
		limits: cfg.Limits, copies: newCopies(loads),
		owned: flow.Group(loads, "loads by namespace", payersOf, func(_ model.ObjectRef,
			l routeCost) string {
			return l.Order
		}),
	}
	accounts := flow.Group(flow.Map(b.owned, "account", b.makeAccount), "accounts by Gateway",
		func(p payer, _ account) []model.ObjectRef { return []model.ObjectRef{p.Gateway} }, flow.ByKey)
	verdicts := flow.Map(accounts, "verdict", b.makeVerdict)
	over := flow.Derive(verdicts, "over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(degradedKey, []entry)) {
			groupByKey(v.Degraded, entry.degradedKeyOf, emit)
		})
	losing := flow.Derive(verdicts, "namespaces over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(payer, struct{})) {
			groupByKey(v.Degraded, entry.ruleOwner, func(p payer, _ []entry) { emit(p, struct{}{}) })
		})
	copies := flow.Derive(verdicts, "copies over",
		func(_ *flow.Ctx, _ model.ObjectRef, v verdict, emit func(payer, model.DegradedRules)) {
			lost := slices.DeleteFunc(slices.Clone(v.Degraded), func(e entry) bool { return !e.Copy })
			groupByKey(lost, entry.payerOf, func(p payer, list []entry) {
				forms := make(model.DegradedRules, len(list))
				for _, e := range list {
					forms[e.Rule] = e.Degradation
				}
				emit(p, forms)
			})
		})
	return flow.Map(drafts, "plan/route", ruleDegrader{losing, over, cfg.Parents}.degradeRoute),
		b.copies.degradedByHost(copies)
}
