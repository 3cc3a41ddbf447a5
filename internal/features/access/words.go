package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// callers are those of a rule, in words.
func (r Rule) callers() string {
	if len(r.Sources) == 0 {
		return "everybody"
	}
	var all []string
	for _, s := range r.Sources {
		all = append(all, s.words())
	}
	return strings.Join(all, " or ")
}

func (s Source) words() string {
	if s.JWT == nil {
		return s.SPIFFE.words()
	}
	var all []string
	for _, m := range s.JWT.match() {
		all = append(all, fmt.Sprintf("%s %s", m.Claim, strings.Join(m.Values, " or ")))
	}
	return "tokens with " + strings.Join(all, " and ")
}

func (m TextMatch) words() string {
	if m.Type == Prefix {
		return m.Value + "*"
	}
	return m.Value
}

// miss is why messages of others are meant.
func (m MCP) miss(c Call, doubt bool) miss {
	other := miss{other: true, why: "it is for " + m.words()}
	if !c.Server || c.Message == nil {
		return other
	}
	for _, method := range m.Methods {
		if method.Name != c.Message.Method {
			continue
		}
		plain := method
		if plain.Arguments = nil; !plain.takes(*c.Message, doubt) {
			continue
		}
		for _, a := range method.Arguments {
			if !a.takes(c.Message.Arguments, doubt) {
				return miss{why: fmt.Sprintf("the argument %s is not %s", a.Path, a.words())}
			}
		}
	}
	return other
}

// words are the messages that are meant.
func (m MCP) words() string {
	var all []string
	if m.MCPBaseProtocolMethodsOption == MatchBase {
		all = append(all, "what sessions need")
	}
	for _, method := range m.Methods {
		all = append(all, method.words())
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

func (m Method) words() string {
	text := m.Name
	for i, p := range m.Params {
		text += []string{" ", " or "}[min(i, 1)] + p.words()
	}
	for i, a := range m.Arguments {
		text += []string{" if ", " and "}[min(i, 1)] + a.Path + " is " + a.words()
	}
	return text
}

// words are the values that an argument may have.
func (a Argument) words() string {
	var all []string
	for _, v := range a.values() {
		all = append(all, v.String())
	}
	switch {
	case a.Prefix != "":
		return a.Prefix + "*"
	case a.Range != nil && a.Range.Max == nil:
		return "at least " + a.Range.Min.String()
	case a.Range != nil && a.Range.Min == nil:
		return "at most " + a.Range.Max.String()
	case a.Range != nil:
		return fmt.Sprintf("from %s to %s", a.Range.Min, a.Range.Max)
	case a.Present:
		return "there"
	}
	return strings.Join(all, " or ")
}

// callOf is a request as policies read it; known is false where nobody knows who sends it, or what is in it.
func callOf(q extend.Request, v Value) (c Call, known bool) {
	if q.Agent == nil {
		return c, false
	}
	c = Call{
		Method: q.Method, Path: q.Path, Host: q.Host, Port: int32(q.Port) - v.PortOffset, Header: q.Header,
		Caller: q.Agent.Caller, Claims: q.Agent.Claims, Server: q.Agent.Server,
	}
	if q.Agent.Method != "" && c.Server {
		m := &Message{Method: q.Agent.Method}
		m.Name, _ = q.Agent.Params["name"].(string)
		m.URI, _ = q.Agent.Params["uri"].(string)
		m.Arguments, _ = q.Agent.Params["arguments"].(map[string]any)
		c.Message = m
	}
	return c, true
}

// undecided tells whether a level asks for more than is known of a call: for a token that it may have.
func (l Level) undecided(c Call) bool {
	return c.Claims == nil && slices.ContainsFunc(l.Policies, func(p Policy) bool {
		return slices.ContainsFunc(p.Rules, func(r Rule) bool {
			return slices.ContainsFunc(r.Sources, func(s Source) bool { return s.JWT != nil })
		})
	})
}

// decide tells what each level says of a call.
func decide(q extend.Request, v Value) (list []extend.Decision) {
	c, known := callOf(q, v)
	if !known {
		return nil
	}
	for _, l := range v.Levels {
		list = append(list, l.told(c))
	}
	return list
}

// told is a decision in words.
func (l Level) told(c Call) extend.Decision {
	d := l.Decide(c)
	out := extend.Decision{Level: l.Name, Allowed: d.Allowed, Undecided: len(d.Unknown) > 0}
	switch {
	case l.closed():
		out.Words = "a policy can't be served: " + strings.Join(l.names(func(p Policy) bool { return p.Closed }), ", ")
	case d.Allowed && d.Rule != "":
		out.Words = d.Rule + " allows it"
	case d.Allowed && l.allows(false):
		out.Words = "everything is allowed"
	case d.Allowed:
		out.Words = "no rule denies it"
	case d.Rule != "":
		out.Words = d.Rule + " denies it"
	default:
		out.Words = "no rule allows it"
	}
	if out.Undecided {
		out.Words += ", unless the expression says so of " + strings.Join(d.Unknown, ", ")
	}
	if out.Allowed && len(d.Asked) > 0 {
		out.Words += ", and the server of " + strings.Join(d.Asked, ", ") + " is asked, too"
	}
	everybody := func(p Policy, r Rule) bool {
		return ruleName(p, r) == d.Rule && r.Action == Deny && len(r.Sources) == 0
	}
	for _, p := range l.Policies {
		if slices.ContainsFunc(p.Rules, func(r Rule) bool { return everybody(p, r) }) {
			return out // nobody else may, either
		}
	}
	l.each(false, Allow, func(p Policy, r Rule) {
		misses := r.misses(c, false)
		is, known := r.expressed(c, false)
		switch {
		case !known || !is:
		case slices.ContainsFunc(misses, func(m miss) bool { return m.other }):
		case len(misses) == 1 && misses[0].caller, len(misses) == 0 && len(r.Sources) > 0 && !out.Allowed:
			out.Others = append(out.Others, fmt.Sprintf("%s (%s)", r.callers(), ruleName(p, r)))
		case len(misses) == 1 && !out.Allowed:
			out.Near = append(out.Near, fmt.Sprintf("%s: %s", ruleName(p, r), misses[0].why))
		case len(misses) == 2 && !out.Allowed && misses[0].caller:
			out.Near = append(out.Near, fmt.Sprintf("%s: %s; %s", ruleName(p, r), misses[0].why, misses[1].why))
		}
	})
	out.Near = out.Near[:min(len(out.Near), mostNear)]
	out.Others = out.Others[:min(len(out.Others), mostNear)]
	return out
}

// mostNear is how many rules are told of.
const mostNear = 5

func (l Level) names(of func(Policy) bool) (names []string) {
	for _, p := range l.Policies {
		if of(p) {
			names = append(names, p.Name)
		}
	}
	return names
}
