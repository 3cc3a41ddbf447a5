package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/translate/policy"
)

// Access is what a caller would gain or lose of a server of MCP, at a rule that leads to it.
type Access struct {
	Change   string `json:"change"`           // "+": gained, "-": lost, "~": on other conditions
	Backend  string `json:"backend"`          // "XBackend shop/tools"
	Rule     string `json:"rule"`             // "rule tools of HTTPRoute shop/web"
	Listener string `json:"listener"`         // "listener https of Gateway infra/edge"
	Caller   string `json:"caller"`           // as the policies name it
	May      string `json:"may"`              // what it may ask for: "tools/call get-sum"
	Before   string `json:"before,omitempty"` // on which conditions; "": on none
	After    string `json:"after,omitempty"`
}

// accessPath is where a rule leads to a backend.
type accessPath struct {
	gateway  model.ObjectRef
	listener model.ListenerKey
	rule     model.RuleKey
	backend  model.ObjectRef
}

// compareAccess compares who may ask servers of MCP for what, where the edits of a Try may change that.
func (d *Differ) compareAccess(v flow.View) (list []Access) {
	before, after := policy.Snapshot{View: v, Before: true}, policy.Snapshot{View: v}
	gateways, routes := d.world.Policies.ChangedGrants(v)
	if len(gateways) > 0 { // they may have many rules
		for ref := range flow.All(v, d.world.Plan.Routes) {
			routes[ref] = routes[ref] // at these Gateways
		}
	}
	for ref, whole := range routes {
		concerned := func(p accessPath) bool { return whole || gateways[p.gateway] }
		was, _ := flow.ValueBefore(v, d.world.Plan.Routes, ref)
		is, _ := flow.Get(v, d.world.Plan.Routes, ref)
		old, edited := findMCPServers(was), findMCPServers(is)
		for p := range old {
			if _, stays := edited[p]; !stays && concerned(p) {
				list = append(list, d.compareGrants(p, d.policyPieces(before, p, old), nil, true, false)...)
			}
		}
		for p := range edited {
			if !concerned(p) {
				continue
			}
			_, was := old[p]
			list = append(list, d.compareGrants(p, d.policyPieces(before, p, old), d.policyPieces(after, p, edited), was,
				true)...)
		}
	}
	slices.SortFunc(list, func(a, b Access) int {
		return cmp.Or(strings.Compare(a.Backend, b.Backend), strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Listener, b.Listener), strings.Compare(a.Caller, b.Caller), strings.Compare(a.May, b.May))
	})
	return list
}

// findMCPServers are the places of a route from which requests go to servers of MCP, with the index of the backendRef.
func findMCPServers(r model.Route) map[accessPath]int {
	all := map[accessPath]int{}
	for _, rule := range r.Rules {
		for i, b := range rule.Backends {
			for _, at := range r.Listeners {
				if b.MCP {
					all[accessPath{at.Gateway, at.Listener, rule.Key, b.Backend.Object}] = i
				}
			}
		}
	}
	return all
}

func (d *Differ) policyPieces(s policy.Snapshot, p accessPath, of map[accessPath]int) []policy.RulePiece {
	index, found := of[p]
	if !found {
		return nil
	}
	return d.world.Policies.ToBackend(s, p.gateway, p.listener, p.rule, index)
}

// compareGrants compares what pieces grant before and after. Where no rule leads to the backend, nobody may anything.
func (d *Differ) compareGrants(p accessPath, before, after []policy.RulePiece, was, is bool) (list []Access) {
	old, edited := map[[2]string]request.Grant{}, map[[2]string]request.Grant{}
	open := func(of []policy.RulePiece) bool {
		_, stated := d.world.Policies.ListGrants(of, nil)
		return !stated
	}
	grants := func(into map[[2]string]request.Grant, of, others []policy.RulePiece) {
		all, _ := d.world.Policies.ListGrants(of, others)
		for _, g := range all {
			if g.May != "" {
				into[[2]string{g.Caller, g.May}] = g
			}
		}
	}
	if was {
		grants(old, before, after)
	}
	if is {
		grants(edited, after, before)
	}
	say := func(change string, g request.Grant, before, after string) {
		list = append(list, Access{
			Change: change, Backend: p.backend.String(), Caller: g.Caller, May: g.May, Before: before, After: after,
			Rule:     fmt.Sprintf("rule %s of %s", p.rule.Name, p.rule.Route),
			Listener: fmt.Sprintf("listener %s of %s", p.listener.Describe(p.gateway), p.gateway),
		})
	}
	if is && !was && open(after) {
		say("+", request.Grant{Caller: "everybody", May: "everything"}, "", "")
	}
	for key, g := range edited {
		switch former, had := old[key]; {
		case !had:
			say("+", g, "", g.If)
		case former.If != g.If:
			say("~", g, former.If, g.If)
		}
	}
	for key, g := range old {
		if _, has := edited[key]; !has {
			say("-", g, g.If, "")
		}
	}
	return list
}

// printAccess writes a line for each change below a line for each place.
func printAccess(b *strings.Builder, list []Access, more int) {
	of := ""
	for _, a := range list {
		if at := fmt.Sprintf("%s by %s at %s", a.Backend, a.Rule, a.Listener); at != of {
			of = at
			fmt.Fprintf(b, "  %s\n", at)
		}
		condition := ""
		switch {
		case a.Change == "~":
			condition = fmt.Sprintf(", %s, would be %s", describeCondition(a.Before), describeCondition(a.After))
		case a.Before+a.After != "":
			condition = ", if " + a.Before + a.After
		}
		fmt.Fprintf(b, "    %s %s: %s%s\n", a.Change, a.Caller, a.May, condition)
	}
	if more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

func describeCondition(condition string) string {
	if condition == "" {
		return "always"
	}
	return "if " + condition
}
