package access

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// sessionRule is the rule that lets everybody begin a session, in YAML.
const sessionRule = "{name: sessions, authorization: {type: Inline, mcp: {mcpBaseProtocolMethodsOption: " +
	"MATCH_BASE_PROTOCOL_METHODS}}}"

// warnOfSessions warns of rules that allow calls to callers who can't begin a session: each level has to allow both.
// read has a reading for each policy of the level.
func (l Level) warnOfSessions(read []*specReader) {
	if l.isClosed() || slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Open && !p.DryRun }) {
		return
	}
	for i, p := range l.Policies {
		if p.AsksOnly {
			continue
		}
		for _, r := range p.Rules {
			if r.Action != Deny && r.asksMessages() && !l.allowsSessions(p.DryRun, r) {
				read[i].r.Field(fmt.Sprintf("rules[%s].authorization", r.Name)).Warn("MCP clients start with the method " +
					"initialize, and no rule allows these callers to call it, so they can't start a session; " +
					"add the rule " + sessionRule)
				break
			}
		}
	}
}

// asksMessages tells whether a rule is about some messages to MCP servers.
func (r Rule) asksMessages() bool {
	a := r.Authorization
	return a != nil && (a.MCP != nil && len(a.MCP.Methods) > 0 ||
		a.CEL != nil && strings.Contains(a.CEL.Expression, toolName))
}

// allowsSessions tells whether rules of the level let all callers of a rule begin sessions, in either version of the
// protocol. If it is not certain, the answer is yes.
func (l Level) allowsSessions(dry bool, of Rule) bool {
	var begin []Rule
	collect := func(_ Policy, r Rule) {
		if r.beginsSessions() {
			begin = append(begin, r)
		}
	}
	l.eachRule(false, Allow, collect)
	if dry {
		l.eachRule(true, Allow, collect)
	}
	everybody := func(r Rule) bool { return len(r.Sources) == 0 }
	if len(of.Sources) == 0 || slices.ContainsFunc(begin, everybody) {
		return len(begin) > 0
	}
	return !slices.ContainsFunc(of.Sources, func(s Source) bool {
		return !slices.ContainsFunc(begin, func(r Rule) bool { return slices.ContainsFunc(r.Sources, s.mayOverlap) })
	})
}

// beginsSessions tells whether a rule takes the first message of a session.
func (r Rule) beginsSessions() bool {
	return slices.ContainsFunc([]string{"initialize", "server/discover"}, func(method string) bool {
		c := Call{Method: http.MethodPost, Server: true, Message: &Message{Method: method}}
		if a := r.Authorization; a != nil && a.MCP != nil && !a.MCP.matchesCall(c, false) {
			return false
		}
		is, known := r.evaluateCEL(c, false)
		return is || !known
	})
}

// mayOverlap tells whether callers of a source may be those of another one. This is always so for two sources of
// tokens.
func (s Source) mayOverlap(other Source) bool {
	if s.JWT != nil || other.JWT != nil || s.SPIFFE == nil || other.SPIFFE == nil {
		return s.JWT != nil && other.JWT != nil
	}
	id := s.SPIFFE.Value
	switch s.SPIFFE.Type {
	case Prefix:
		id += "x"
	case Wildcard:
		id = strings.ReplaceAll(id, "*", "x")
	}
	return other.SPIFFE.matchesString(id)
}
