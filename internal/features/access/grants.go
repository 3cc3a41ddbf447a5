package access

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// listGrants are who may ask for what, where all of some values hold: for each caller that a rule names, of these
// values or of others, and for everybody else, what rules name.
func listGrants(all, others []Value) (list []extend.Grant) {
	var levels, naming []Level
	for _, v := range all {
		levels = append(levels, v.Levels...)
	}
	naming = slices.Clone(levels)
	for _, v := range others {
		naming = append(naming, v.Levels...)
	}
	messages := findMessages(naming)
	for _, caller := range findCallers(naming) {
		found, refused := false, []string(nil) // tools
		for _, message := range messages {
			if _, some := findGrant(levels, caller, message); !some && message.tool != nil {
				refused = append(refused, message.tool.describeText())
			}
		}
		for _, message := range messages {
			g, some := findGrant(levels, caller, message)
			if !some {
				continue
			}
			if but := message.excludedTools(refused); len(but) > 0 { // which rules deny
				g.May += ", but not " + strings.Join(but, " or ")
			}
			list, found = append(list, g), true
		}
		if !found {
			list = append(list, extend.Grant{Caller: caller.description})
		}
	}
	return list
}

// namedCall is something that rules name, and a call of it.
type namedCall struct {
	description string
	call        Call
	exact       bool // the call is the only one that is named so
	tool        *TextMatch
}

// excludedTools are those of some tools that are meant, too, if several are.
func (n namedCall) excludedTools(tools []string) (list []string) {
	for _, name := range tools {
		if n.description == anyOther || n.tool != nil && !n.exact && n.tool.matchesString(name) {
			list = append(list, name)
		}
	}
	return list
}

const (
	everybodyElse = "everybody else"
	anyOther      = "any other tool"
	// unnamed is a name that no rule has.
	unnamed = "\x00"
)

func findCallers(levels []Level) (list []namedCall) {
	found := map[string]Call{}
	eachEnforcedRule(levels, func(r Rule) {
		for _, s := range r.Sources {
			call := Call{Claims: map[string]any{}}
			if s.JWT != nil {
				for _, m := range s.JWT.claimMatches() {
					setClaim(call.Claims, m)
				}
			} else {
				call.Caller = strings.ReplaceAll(s.SPIFFE.Value, "*", "any")
			}
			found[s.describeSource()] = call
		}
	})
	for _, words := range slices.Sorted(maps.Keys(found)) {
		list = append(list, namedCall{description: words, call: found[words]})
	}
	return append(list, namedCall{description: everybodyElse, call: Call{Claims: map[string]any{}}})
}

func setClaim(claims map[string]any, m extend.ClaimMatch) {
	names, _ := extend.ClaimPath(m.Claim)
	for i, name := range names {
		if i == len(names)-1 {
			claims[name] = m.Values[0]
			return
		}
		below, _ := claims[name].(map[string]any)
		if below == nil {
			below = map[string]any{}
			claims[name] = below
		}
		claims = below
	}
}

func findMessages(levels []Level) (list []namedCall) {
	found := map[string]namedCall{}
	add := func(words string, m Message, name *TextMatch) {
		n := namedCall{description: words, call: Call{Method: http.MethodPost, Server: true, Message: &m}}
		if n.exact = name != nil && name.isExact(); m.Method == "tools/call" {
			n.tool = name
		}
		found[words] = n
	}
	eachEnforcedRule(levels, func(r Rule) {
		if r.Authorization == nil || r.Authorization.MCP == nil {
			return
		}
		for _, m := range r.Authorization.MCP.Methods {
			for _, p := range m.Params {
				value := strings.ReplaceAll(p.Value, "*", "any")
				add(m.Name+" "+p.describeText(), Message{Method: m.Name, Name: value, URI: value}, &p)
			}
			if family := !strings.Contains(m.Name, "/"); family && m.Name != "tools" {
				add("all of "+m.Name, Message{Method: m.Name + "/any"}, nil)
			} else if !family && len(m.Params) == 0 && m.Name != "tools/call" {
				add(m.Name, Message{Method: m.Name, Name: unnamed, URI: unnamed}, nil)
			}
		}
	})
	for _, words := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[words])
	}
	other := Message{Method: "tools/call", Name: unnamed}
	session := Message{Method: "initialize"}
	return append(list, namedCall{description: anyOther, call: Call{Method: http.MethodPost, Server: true,
		Message: &other}},
		namedCall{description: "what sessions need", call: Call{Method: http.MethodPost, Server: true, Message: &session}})
}

func eachEnforcedRule(levels []Level, do func(Rule)) {
	for _, l := range levels {
		for _, p := range l.Policies {
			for _, r := range p.Rules {
				if !p.DryRun && !p.AsksOnly {
					do(r)
				}
			}
		}
	}
}

// findGrant tells whether each level allows a message of a caller, on which conditions, by which rules.
func findGrant(levels []Level, caller, message namedCall) (g extend.Grant, some bool) {
	call := message.call
	call.Caller, call.Claims = caller.call.Caller, caller.call.Claims
	g = extend.Grant{Caller: caller.description, May: message.description}
	var ifs, by []string
	for _, l := range levels {
		if l.isClosed() {
			return g, false
		}
		if !l.grantsCall(namedCall{call: call, exact: message.exact}, &ifs, &by) {
			return g, false
		}
		for _, p := range l.Policies {
			if p.Asked != nil && !p.DryRun {
				ifs = append(ifs, "the authorization server of "+p.Name+" allows it, if it is asked")
			}
		}
	}
	g.If, g.By = strings.Join(ifs, "; "), strings.Join(by, ", ")
	return g, true
}

// grantsCall tells whether one level allows a call.
func (l Level) grantsCall(asked namedCall, ifs, by *[]string) bool {
	denied := false
	l.eachRule(false, Deny, func(p Policy, r Rule) {
		plain, conditions, never := r.splitConditions(asked, true)
		switch {
		case never, !plain.matchesCall(asked.call, true):
		case conditions == "":
			denied = true
		default:
			*ifs = append(*ifs, "not if "+conditions)
		}
	})
	if denied {
		return false
	}
	if !l.hasAllowList(false) || slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Open && !p.DryRun }) {
		return true
	}
	var always, sometimes, conditions []string
	l.eachRule(false, Allow, func(p Policy, r Rule) {
		plain, condition, never := r.splitConditions(asked, false)
		switch {
		case never, !plain.matchesCall(asked.call, false):
		case condition == "":
			always = append(always, ruleName(p, r))
		default:
			sometimes, conditions = append(sometimes, ruleName(p, r)), append(conditions, condition)
		}
	})
	if len(always) > 0 {
		*by = append(*by, always...)
		return true
	}
	if len(sometimes) > 0 {
		*by, *ifs = append(*by, sometimes...), append(*ifs, strings.Join(conditions, " or "))
	}
	return len(sometimes) > 0
}

// splitConditions is the rule with nothing but its callers and the names of tools, and what it asks for besides, in
// words; never: its expression is for other calls. doubt: what can't be evaluated is taken.
func (r Rule) splitConditions(asked namedCall, doubt bool) (plain Rule, conditions string, never bool) {
	a := r.Authorization
	if a == nil {
		return r, "", false
	}
	var all []string
	list := func(what string, values []string) {
		if len(values) > 0 {
			all = append(all, what+" "+strings.Join(values, " or "))
		}
	}
	list("the method is", a.Methods)
	list("the host is", a.Hosts)
	for _, p := range a.Paths {
		all = append(all, "the path is "+p.Value)
	}
	for _, h := range a.Headers {
		all = append(all, fmt.Sprintf("the header %s is %s", h.Name, h.Value))
	}
	for _, port := range a.Ports {
		all = append(all, fmt.Sprintf("the port is %d", port))
	}
	if a.CEL != nil {
		is, known := r.evaluateCEL(asked.call, doubt)
		known = known && asked.exact && !strings.Contains(a.CEL.Expression, "connection.") // of callers that may be many
		if !known {
			all = append(all, a.CEL.Expression)
		}
		never = known && !is
	}
	plain = Rule{Name: r.Name, Action: r.Action, Sources: r.Sources, Authorization: new(Authorization)}
	if a.MCP != nil {
		mcp := MCP{MCPBaseProtocolMethodsOption: a.MCP.MCPBaseProtocolMethodsOption}
		for _, m := range a.MCP.Methods {
			for _, argument := range m.Arguments {
				all = append(all, argument.Path+" is "+argument.describeValues())
			}
			m.Arguments = nil
			mcp.Methods = append(mcp.Methods, m)
		}
		plain.Authorization.MCP = &mcp
	}
	return plain, strings.Join(all, " and "), never
}
