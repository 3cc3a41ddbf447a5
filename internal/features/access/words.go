package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// describeCallers are those of a rule, in words.
func (r Rule) describeCallers() string {
	if len(r.Sources) == 0 {
		return "everybody"
	}
	var all []string
	for _, s := range r.Sources {
		all = append(all, s.describeSource())
	}
	return strings.Join(all, " or ")
}

func (s Source) describeSource() string {
	if s.JWT == nil {
		return s.SPIFFE.describeText()
	}
	var all []string
	for _, m := range s.JWT.claimMatches() {
		all = append(all, fmt.Sprintf("%s %s", m.Claim, strings.Join(m.Values, " or ")))
	}
	return "tokens with " + strings.Join(all, " and ")
}

func (m TextMatch) describeText() string {
	if m.Type == Prefix {
		return m.Value + "*"
	}
	return m.Value
}

// findMismatch is why messages of others are meant.
func (m MCP) findMismatch(c Call, doubt bool) mismatch {
	other := mismatch{otherMessage: true, why: "it is for " + m.describeMessages()}
	if !c.Server || c.Message == nil {
		return other
	}
	for _, method := range m.Methods {
		if method.Name != c.Message.Method {
			continue
		}
		plain := method
		if plain.Arguments = nil; !plain.matchesMessage(*c.Message, doubt) {
			continue
		}
		for _, a := range method.Arguments {
			if !a.matchesArguments(c.Message.Arguments, doubt) {
				return mismatch{why: fmt.Sprintf("the argument %s is not %s", a.Path, a.describeValues())}
			}
		}
	}
	return other
}

// describeMessages are the messages that are meant.
func (m MCP) describeMessages() string {
	var all []string
	if m.MCPBaseProtocolMethodsOption == MatchBase {
		all = append(all, "what sessions need")
	}
	for _, method := range m.Methods {
		all = append(all, method.describeMethod())
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

func (m Method) describeMethod() string {
	text := m.Name
	for i, p := range m.Params {
		text += []string{" ", " or "}[min(i, 1)] + p.describeText()
	}
	for i, a := range m.Arguments {
		text += []string{" if ", " and "}[min(i, 1)] + a.Path + " is " + a.describeValues()
	}
	return text
}

// describeValues are the values that an argument may have.
func (a Argument) describeValues() string {
	var all []string
	for _, v := range a.exactValues() {
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

// dependsOnToken tells whether a level asks for more than is known of a call: for a token that it may have.
func (l Level) dependsOnToken(c Call) bool {
	return c.Claims == nil && slices.ContainsFunc(l.Policies, func(p Policy) bool {
		return slices.ContainsFunc(p.Rules, func(r Rule) bool {
			return slices.ContainsFunc(r.Sources, func(s Source) bool { return s.JWT != nil })
		})
	})
}

// decideLevels tells what each level says of a call.
func decideLevels(q extend.Request, v Value) (list []extend.Decision) {
	c, known := callOf(q, v)
	if !known {
		return nil
	}
	for _, l := range v.Levels {
		list = append(list, l.describeDecision(c))
	}
	return list
}

// describeDecision is a decision in words.
func (l Level) describeDecision(c Call) extend.Decision {
	d := l.DecideCall(c)
	out := extend.Decision{Level: l.Name, Allowed: d.Allowed, Undecided: len(d.Unknown) > 0}
	switch {
	case l.isClosed():
		out.Words = "a policy can't be served: " + strings.Join(l.policyNames(func(p Policy) bool { return p.Closed }), ", ")
	case d.Allowed && d.Rule != "":
		out.Words = d.Rule + " allows it"
	case d.Allowed && l.hasAllowList(false):
		out.Words = "everything is allowed"
	case d.Allowed:
		out.Words = "no rule denies it"
	case d.Rule != "":
		out.Words = d.Rule + " denies it"
	default:
		out.Words = "no rule allows it"
	}
	if out.Undecided {
		out.Words += ", unless the expression decides otherwise of " + strings.Join(d.Unknown, ", ")
	}
	if out.Allowed && len(d.Asked) > 0 {
		out.Words += ", and the authorization server of " + strings.Join(d.Asked, ", ") + " is asked, too"
	}
	everybody := func(p Policy, r Rule) bool {
		return ruleName(p, r) == d.Rule && r.Action == Deny && len(r.Sources) == 0
	}
	for _, p := range l.Policies {
		if slices.ContainsFunc(p.Rules, func(r Rule) bool { return everybody(p, r) }) {
			return out // nobody else may, either
		}
	}
	l.eachRule(false, Allow, func(p Policy, r Rule) {
		misses := r.listMismatches(c, false)
		is, known := r.evaluateCEL(c, false)
		switch {
		case !known || !is:
		case slices.ContainsFunc(misses, func(m mismatch) bool { return m.otherMessage }):
		case len(misses) == 1 && misses[0].byCaller, len(misses) == 0 && len(r.Sources) > 0 && !out.Allowed:
			out.Others = append(out.Others, fmt.Sprintf("%s (%s)", r.describeCallers(), ruleName(p, r)))
		case len(misses) == 1 && !out.Allowed:
			out.Near = append(out.Near, fmt.Sprintf("%s: %s", ruleName(p, r), misses[0].why))
		case len(misses) == 2 && !out.Allowed && misses[0].byCaller:
			out.Near = append(out.Near, fmt.Sprintf("%s: %s; %s", ruleName(p, r), misses[0].why, misses[1].why))
		}
	})
	out.Near = out.Near[:min(len(out.Near), maxNearRules)]
	out.Others = out.Others[:min(len(out.Others), maxNearRules)]
	return out
}

// maxNearRules is how many rules are told of.
const maxNearRules = 5

func (l Level) policyNames(of func(Policy) bool) (names []string) {
	for _, p := range l.Policies {
		if of(p) {
			names = append(names, p.Name)
		}
	}
	return names
}
