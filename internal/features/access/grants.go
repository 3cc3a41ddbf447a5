package access

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// grants are who may ask for what, where all of some values hold: for each caller that a rule names, of these values or
// of others, and for everybody else, what rules name.
func grants(all, others []Value) (list []extend.Grant) {
	var levels, naming []Level
	for _, v := range all {
		levels = append(levels, v.Levels...)
	}
	naming = slices.Clone(levels)
	for _, v := range others {
		naming = append(naming, v.Levels...)
	}
	messages := messagesIn(naming)
	for _, caller := range callersIn(naming) {
		found, refused := false, []string(nil) // tools
		for _, message := range messages {
			if _, some := granted(levels, caller, message); !some && message.tool != nil {
				refused = append(refused, message.tool.words())
			}
		}
		for _, message := range messages {
			g, some := granted(levels, caller, message)
			if !some {
				continue
			}
			if but := message.but(refused); len(but) > 0 { // which rules deny
				g.May += ", but not " + strings.Join(but, " or ")
			}
			list, found = append(list, g), true
		}
		if !found {
			list = append(list, extend.Grant{Caller: caller.words})
		}
	}
	return list
}

// named is something that rules name, and a call of it.
type named struct {
	words string
	call  Call
	exact bool // the call is the only one that is named so
	tool  *TextMatch
}

// but are those of some tools that are meant, too, if several are.
func (n named) but(tools []string) (list []string) {
	for _, name := range tools {
		if n.words == anyOther || n.tool != nil && !n.exact && n.tool.takes(name) {
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

func callersIn(levels []Level) (list []named) {
	found := map[string]Call{}
	everyRule(levels, func(r Rule) {
		for _, s := range r.Sources {
			call := Call{Claims: map[string]any{}}
			if s.JWT != nil {
				for _, m := range s.JWT.match() {
					setClaim(call.Claims, m)
				}
			} else {
				call.Caller = strings.ReplaceAll(s.SPIFFE.Value, "*", "any")
			}
			found[s.words()] = call
		}
	})
	for _, words := range slices.Sorted(maps.Keys(found)) {
		list = append(list, named{words: words, call: found[words]})
	}
	return append(list, named{words: everybodyElse, call: Call{Claims: map[string]any{}}})
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

func messagesIn(levels []Level) (list []named) {
	found := map[string]named{}
	add := func(words string, m Message, name *TextMatch) {
		n := named{words: words, call: Call{Method: http.MethodPost, Server: true, Message: &m}}
		if n.exact = name != nil && name.exact(); m.Method == "tools/call" {
			n.tool = name
		}
		found[words] = n
	}
	everyRule(levels, func(r Rule) {
		if r.Authorization == nil || r.Authorization.MCP == nil {
			return
		}
		for _, m := range r.Authorization.MCP.Methods {
			for _, p := range m.Params {
				value := strings.ReplaceAll(p.Value, "*", "any")
				add(m.Name+" "+p.words(), Message{Method: m.Name, Name: value, URI: value}, &p)
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
	return append(list, named{words: anyOther, call: Call{Method: http.MethodPost, Server: true, Message: &other}},
		named{words: "what sessions need", call: Call{Method: http.MethodPost, Server: true, Message: &session}})
}

func everyRule(levels []Level, do func(Rule)) {
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

// granted tells whether each level allows a message of a caller, on which conditions, by which rules.
func granted(levels []Level, caller, message named) (g extend.Grant, some bool) {
	call := message.call
	call.Caller, call.Claims = caller.call.Caller, caller.call.Claims
	g = extend.Grant{Caller: caller.words, May: message.words}
	var ifs, by []string
	for _, l := range levels {
		if l.closed() {
			return g, false
		}
		if !l.grants(named{call: call, exact: message.exact}, &ifs, &by) {
			return g, false
		}
		for _, p := range l.Policies {
			if p.Asked != nil && !p.DryRun {
				ifs = append(ifs, "the server of "+p.Name+" agrees, if it is asked")
			}
		}
	}
	g.If, g.By = strings.Join(ifs, "; "), strings.Join(by, ", ")
	return g, true
}

// grants tells whether one level allows a call.
func (l Level) grants(asked named, ifs, by *[]string) bool {
	denied := false
	l.each(false, Deny, func(p Policy, r Rule) {
		plain, conditions, never := r.unconditional(asked, true)
		switch {
		case never, !plain.takes(asked.call, true):
		case conditions == "":
			denied = true
		default:
			*ifs = append(*ifs, "not if "+conditions)
		}
	})
	if denied {
		return false
	}
	if !l.allows(false) || slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Open && !p.DryRun }) {
		return true
	}
	var always, sometimes, conditions []string
	l.each(false, Allow, func(p Policy, r Rule) {
		plain, condition, never := r.unconditional(asked, false)
		switch {
		case never, !plain.takes(asked.call, false):
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

// unconditional is the rule with nothing but its callers and the names of tools, and what it asks for besides, in
// words; never: its expression is for other calls. doubt: what can't be evaluated is taken.
func (r Rule) unconditional(asked named, doubt bool) (plain Rule, conditions string, never bool) {
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
		is, known := r.expressed(asked.call, doubt)
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
				all = append(all, argument.Path+" is "+argument.words())
			}
			m.Arguments = nil
			mcp.Methods = append(mcp.Methods, m)
		}
		plain.Authorization.MCP = &mcp
	}
	return plain, strings.Join(all, " and "), never
}
