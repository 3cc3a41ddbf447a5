package authorization

import (
	"slices"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestJudge: what the request itself decides is decided; what depends on something else is told without what does not
// hold, at the slot of its filter. What is only counted refuses nothing.
func TestJudge(t *testing.T) {
	method := func(name string) extend.RequestMatch {
		return extend.RequestMatch{RequestParts: extend.RequestParts{Methods: []string{name}}}
	}
	client := extend.RequestMatch{RequestParts: extend.RequestParts{ClientCIDRs: []string{"10.0.0.0/8"}}}
	user := extend.RequestMatch{RequestParts: extend.RequestParts{Users: []string{"ann"}}}
	getAnn, putAnn := user, user
	getAnn.Methods, putAnn.Methods = []string{"GET"}, []string{"PUT"}
	entry := func(name string, matches ...extend.RequestMatch) []Entry {
		return []Entry{{Name: name, Matches: matches}}
	}
	refused := extend.Verdict{Status: 403, At: "guard"}
	late := extend.Verdict{Status: 403, At: "authz"}
	with := func(v extend.Verdict, change func(*extend.Verdict)) []extend.Verdict {
		change(&v)
		return []extend.Verdict{v}
	}
	for name, c := range map[string]struct {
		v    Value
		want []extend.Verdict
	}{
		"denied":     {Value{Deny: entry("a", method("PUT"), method("GET"))}, []extend.Verdict{refused}},
		"not denied": {Value{Deny: entry("a", method("PUT"))}, nil},
		"shadow": {
			Value{Deny: []Entry{{Name: "a", Matches: entry("", method("GET"))[0].Matches, Mode: Shadow}}},
			[]extend.Verdict{{Status: 403, Shadow: "authorization.deny[a] in mode Shadow", At: "guard"}},
		},
		"may be denied": {Value{Deny: entry("a", method("PUT"), client)}, with(refused, func(v *extend.Verdict) {
			v.RefusedIf, v.ByAddress = "a denies it (client in 10.0.0.0/8)", true
		})},
		"refused anyway": {
			Value{Deny: entry("a", client), Require: entry("b", method("PUT"))}, []extend.Verdict{refused},
		},
		"required":                 {Value{Require: entry("a", method("GET"))}, nil},
		"lacks":                    {Value{Require: entry("a", method("PUT"))}, []extend.Verdict{refused}},
		"another method of a user": {Value{Require: entry("a", putAnn)}, []extend.Verdict{late}},
		"may lack": {Value{Require: entry("a", user, method("PUT"))}, with(late, func(v *extend.Verdict) {
			v.If = "it matches what a requires (user ann)"
		})},
		"allowed": {Value{Allow: append(entry("a", user), entry("b", method("GET"))...)}, nil},
		"not allowed": {
			Value{Allow: append(entry("a", method("PUT")), entry("b", method("POST"))...)}, []extend.Verdict{refused},
		},
		"may be allowed": {
			Value{Allow: append(entry("a", getAnn), entry("b", method("POST"))...)},
			with(late, func(v *extend.Verdict) { v.If = "it matches what is allowed by a (method GET, user ann)" }),
		},
	} {
		if got := judgeRequest(extend.Request{Method: "GET"}, c.v); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
}
