package diff

import (
	"cmp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/simulate"
)

const (
	listed = 50   // requests that are listed
	asked  = 2000 // requests that are compared
)

// comparison compares what is offered without an edit and would be with it.
type comparison struct {
	report *Report
	seen   map[string]bool // requests that were compared, by Gateway
	left   int             // how many more may be
}

// compare compares the listeners and tables of a Gateway, and asks both configurations what becomes of requests that
// witness what differs of listeners, the routes that differ, and the backends that move.
func (c *comparison) compare(s *scene) error {
	before := side{parts: s.before, moved: map[model.BackendKey]string{}}
	after := side{parts: s.after, moved: map[model.BackendKey]string{}}
	var err error
	if before.Config, err = s.before.Config(); err != nil {
		return err
	}
	if after.Config, err = s.after.Config(); err != nil {
		return err
	}
	for _, m := range s.moves {
		before.moved[m.key.Backend], after.moved[m.key.Backend] = m.before, m.after
	}
	name := s.gateway.NamespacedName()
	about := func() *subject {
		return &subject{comparison: c, gateway: name, before: before, after: after, told: map[contrast]int{}}
	}
	for _, l := range s.listeners {
		for _, r := range l.witnesses {
			about().ask(r)
		}
	}
	for _, t := range s.tables {
		entrances := entrances(t.key.Name, before, after)
		for _, domain := range t.domains {
			of := Route{Gateway: name, Port: strings.TrimSuffix(t.key.Name, "/0"), Host: domain}
			was, is := before.Routes(t.key.Name, domain), after.Routes(t.key.Name, domain)
			if len(was)+len(is) == 0 { // a host of a listener without routes there: it came or left
				for _, from := range entrances {
					about().ask(simulate.Witnesses(from, domain, nil)[0])
				}
			}
			for _, r := range c.routes(of, was, is) {
				if c.left <= 0 {
					c.report.Unasked++
					continue
				}
				for _, from := range entrances {
					about().route(r, from, domain)
				}
			}
		}
	}
	for _, m := range s.moves {
		c.leads(m.led, after, func(l lead, r simulate.Route) {
			for _, from := range entrances(l.table, after) {
				about().ask(simulate.Witnesses(from, l.domain, r.Match)[0])
			}
		})
	}
	return nil
}

// entrances are those of a table in the last of the sides that has some.
func entrances(table string, sides ...side) (list []simulate.Request) {
	for i := len(sides) - 1; i >= 0 && len(list) == 0; i-- {
		list = sides[i].Entrances(table)
	}
	return list
}

// leads visits the routes of the rules that lead to a backend, as many as may be asked for. The leads of one virtual
// host follow each other.
func (c *comparison) leads(list []lead, in side, visit func(lead, simulate.Route)) {
	for len(list) > 0 {
		at, n := list[0], 1
		rules := map[model.RuleKey]bool{at.rule: true}
		for ; n < len(list) && list[n].table == at.table && list[n].domain == at.domain; n++ {
			rules[list[n].rule] = true
		}
		list = list[n:]
		for _, r := range in.Routes(at.table, at.domain) {
			if rule, ok := envoy.RuleNamed(r.Name); !ok || !rules[rule] {
				continue
			}
			if c.left <= 0 {
				c.report.Unasked++
				continue
			}
			visit(at, r)
		}
	}
}

// forms are what a route was and is: both, if it differs in what it does.
type forms []simulate.Route

// routes lists the routes that differ, and gives all of whose matches or place something may have changed.
func (c *comparison) routes(of Route, was, is []simulate.Route) (differ []forms) {
	wasKeys, before := index(was)
	isKeys, after := index(is)
	say := func(change string, f ...simulate.Route) {
		of.Change, of.Object, of.Match = change, objectOf(f[0].Name), simulate.Words(f[0].Match).String()
		c.report.Routes = append(c.report.Routes, of)
		differ = append(differ, f)
	}
	for i, r := range is {
		switch old, found := before[isKeys[i]]; {
		case !found:
			say("+", r)
		case old.Content != r.Content:
			say("~", old, r)
		}
	}
	for i, r := range was {
		if _, found := after[wasKeys[i]]; !found {
			say("-", r)
		}
	}
	if len(differ) == 0 { // their order is what differs
		for _, r := range is {
			differ = append(differ, forms{r})
		}
	}
	return differ
}

// identity is what makes a route the same one before and after: its rule, what it matches, and its place among equals.
type identity struct {
	name, match string
	ordinal     int
}

func index(list []simulate.Route) (keys []identity, routes map[identity]simulate.Route) {
	routes = map[identity]simulate.Route{}
	for _, r := range list {
		key := identity{name: r.Name, match: simulate.Words(r.Match).String()}
		for _, taken := routes[key]; taken; _, taken = routes[key] {
			key.ordinal++
		}
		keys, routes[key] = append(keys, key), r
	}
	return keys, routes
}

func objectOf(route string) string {
	if rule, ok := envoy.RuleNamed(route); ok {
		return rule.Route.String()
	}
	return route
}

// finish sorts, and cuts what is too much to read.
func (c *comparison) finish() {
	slices.SortStableFunc(c.report.Requests, func(a, b Request) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Request, b.Request))
	})
	if more := len(c.report.Requests) - listed; more > 0 {
		c.report.Requests, c.report.More = c.report.Requests[:listed], more
	}
}
