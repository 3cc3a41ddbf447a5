package diff

import (
	"cmp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

const (
	maxListed   = 50   // requests that are listed
	maxCompared = 2000 // requests that are compared
)

// comparison compares what is offered without an edit and would be with it.
type comparison struct {
	report *Report
	seen   map[string]bool // requests that were compared, by Gateway
	budget int             // how many more may be
}

// compareScene compares the listeners and tables of a Gateway, and asks both configurations what becomes of requests
// that witness what differs of listeners, the routes that differ, and the backends that move.
func (c *comparison) compareScene(s *gatewayChange) error {
	before, err := newSimulatedSide(s.was, s.before, s.gates[0])
	if err != nil {
		return err
	}
	after, err := newSimulatedSide(s.is, s.after, s.gates[1])
	if err != nil {
		return err
	}
	for _, m := range s.moves {
		before.moved[m.key.Backend], after.moved[m.key.Backend] = m.before, m.after
	}
	name := s.gateway.NamespacedName()
	c.compareConnections(name, before, after, s.connections)
	about := func() *requestDifference {
		return &requestDifference{comparison: c, gateway: name, before: before, after: after, reported: map[outcomeDiff]int{}}
	}
	for _, l := range s.listeners {
		for _, r := range l.witnesses {
			about().compareRequests(r)
			if r.TLS && (before.SimulateRequest(r).Mismatch || after.SimulateRequest(r).Mismatch) {
				c.compareConnections(name, before, after, []request.Connection{
					{Address: r.Address, Port: r.Port, TLS: true, SNI: r.SNI},
				})
			}
		}
	}
	var around []func() // asks for what is stated for many routes, after those that differ themselves
	all := about()
	for _, t := range s.tables {
		table := nameOf(t.key)
		entrances := entryRequests(table, before, after)
		for _, domain := range t.domains {
			of := Route{Gateway: name, Port: s.is.DescribeTable(t.key), Host: domain}
			was, is := before.ListRoutes(table, domain), after.ListRoutes(table, domain)
			if len(was)+len(is) == 0 { // a host of a listener without routes there: it came or left
				for _, from := range entrances {
					about().compareRequests(request.NewGetRequest(from, domain))
				}
			}
			ask := func(about func() *requestDifference, list []routeVersions) {
				for _, r := range list {
					if c.budget <= 0 {
						c.report.Unasked++
						continue
					}
					for _, from := range entrances {
						about().askRoute(r, from, domain)
					}
				}
			}
			differ, others := c.compareRoutes(of, was, is, t.around)
			ask(about, differ)
			around = append(around, func() { ask(func() *requestDifference { return all }, others) })
		}
	}
	for _, ask := range around {
		ask()
	}
	for _, m := range s.moves {
		c.eachRoute(m.uses, after, func(l backendUse, r request.Route) {
			for _, from := range entryRequests(l.table, after) {
				about().compareRequests(r.Match.Witnesses(from, l.domain)[0])
			}
		})
	}
	return nil
}

// entryRequests are the requests that enter a table, in the last of the sides that has some.
func entryRequests(table resource.Name, sides ...simulatedSide) (list []request.Request) {
	for i := len(sides) - 1; i >= 0 && len(list) == 0; i-- {
		list = sides[i].EntryRequests(table)
	}
	return list
}

// eachRoute visits the routes of the rules that lead to a backend, as many as may be asked for. The leads of one
// virtual host follow each other.
func (c *comparison) eachRoute(list []backendUse, in simulatedSide, visit func(backendUse, request.Route)) {
	for len(list) > 0 {
		at, n := list[0], 1
		rules := map[model.RuleKey]bool{at.rule: true}
		for ; n < len(list) && list[n].table == at.table && list[n].domain == at.domain; n++ {
			rules[list[n].rule] = true
		}
		list = list[n:]
		for _, r := range in.ListRoutes(at.table, at.domain) {
			if !rules[r.Rule] {
				continue
			}
			if c.budget <= 0 {
				c.report.Unasked++
				continue
			}
			visit(at, r)
		}
	}
}

// routeVersions are what a route was and is: both, if it differs in what it does.
type routeVersions []request.Route

// compareRoutes adds the routes that differ to the report, and returns them. others are routes that are the same as
// before while something around them is not: in the table, or around that.
func (c *comparison) compareRoutes(of Route, was, is []request.Route, around bool) (differ, others []routeVersions) {
	wasKeys, before := indexRoutes(was)
	isKeys, after := indexRoutes(is)
	say := func(change string, f ...request.Route) {
		of.Change, of.Object, of.Match = change, f[0].Rule.Route.String(), f[0].Match.Describe().String()
		c.report.Routes = append(c.report.Routes, of)
		differ = append(differ, f)
	}
	for i, r := range is {
		switch old, found := before[isKeys[i]]; {
		case !found:
			say("+", r)
		case old.Content != r.Content:
			say("~", old, r)
		case around || old.Around != r.Around:
			others = append(others, routeVersions{old, r})
		}
	}
	for i, r := range was {
		if _, found := after[wasKeys[i]]; !found {
			say("-", r)
		}
	}
	if len(differ)+len(others) == 0 { // their order is what differs
		for _, r := range is {
			differ = append(differ, routeVersions{r})
		}
	}
	return differ, others
}

// routeIdentity is what makes a route the same one before and after: its rule, what it matches, and its place among
// equals.
type routeIdentity struct {
	rule    model.RuleKey
	match   string
	ordinal int
}

func indexRoutes(list []request.Route) (keys []routeIdentity, routes map[routeIdentity]request.Route) {
	routes = map[routeIdentity]request.Route{}
	for _, r := range list {
		key := routeIdentity{rule: r.Rule, match: r.Match.Describe().String()}
		for _, taken := routes[key]; taken; _, taken = routes[key] {
			key.ordinal++
		}
		keys, routes[key] = append(keys, key), r
	}
	return keys, routes
}

// sortAndCut sorts, and cuts what is too much to read.
func (c *comparison) sortAndCut() {
	slices.SortStableFunc(c.report.Requests, func(a, b Request) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Request, b.Request))
	})
	if more := len(c.report.Requests) - maxListed; more > 0 {
		c.report.Requests, c.report.More = c.report.Requests[:maxListed], more
	}
	slices.SortStableFunc(c.report.Connections, func(a, b Request) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Request, b.Request))
	})
	if more := len(c.report.Connections) - maxListed; more > 0 {
		c.report.Connections, c.report.MoreConnections = c.report.Connections[:maxListed], more
	}
}
