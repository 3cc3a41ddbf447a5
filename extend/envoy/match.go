package envoy

import (
	"regexp"
	"strconv"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/extend"
)

// Where filters tell each other who sent a request.
const (
	// ClaimsMetadata is the namespace in which jwt_authn has the claims of accepted tokens (payload_in_metadata), by the
	// name of their provider.
	ClaimsMetadata = "envoy.filters.http.jwt_authn"
	// UserMetadata is the namespace, and UserKey the key, in which the name of the user stands. The feature that
	// authenticates users puts it there; no header that a client can send may end up there.
	UserMetadata = "cardea.dev/user"
	UserKey      = "name"
	// AccessMetadata is the namespace, and AccessAsking the key, in which true stands while an authorization server of an
	// access policy is asked: of what it answers to agents, an error of JSON-RPC is made.
	AccessMetadata = "cardea.dev/access"
	AccessAsking   = "asking"
	// ToolsMetadata is the namespace in which each level says which tools may be called (SlotMessages).
	ToolsMetadata = "cardea.dev/tools"
	// UsageMetadata is the namespace in which stands what the answer of a model took, and who called (SlotAI).
	UsageMetadata = "cardea.dev/usage"
	// AnswerMetadata is the namespace and AnswerText the key of the text that a feature's filters of type fault answer
	// with status 400, in place of Envoy's.
	AnswerMetadata = "cardea.dev/answer"
	AnswerText     = "text"
)

// MatchPolicy takes the requests of a valid match, for RBAC filters. providers are the names of the providers that have
// their tokens accepted. A request for which the match's expression can't be evaluated is not taken: to deny, use
// MismatchPolicies.
func MatchPolicy(m extend.RequestMatch, providers ...string) *rbacv3.Policy {
	p := policy(principal(m, providers))
	if m.CEL != "" {
		p.Condition = extend.CELExpression(m.CEL)
	}
	return p
}

// MismatchPolicies are policies that together take the requests which a valid match does not take. A request for which
// the expression of the match can't be evaluated is taken by none: so to deny the requests of a match with an
// expression, a filter of its own allows these.
func MismatchPolicies(m extend.RequestMatch, providers ...string) []*rbacv3.Policy {
	list := []*rbacv3.Policy{policy(NotPrincipal(principal(m, providers)))}
	if m.CEL != "" {
		p := policy(anybody())
		p.Condition = extend.CELExpression("!(" + m.CEL + "\n)") // behind what may be a comment
		list = append(list, p)
	}
	return list
}

func policy(p *rbacv3.Principal) *rbacv3.Policy {
	all := &rbacv3.Permission{Rule: &rbacv3.Permission_Any{Any: true}}
	return &rbacv3.Policy{Permissions: []*rbacv3.Permission{all}, Principals: []*rbacv3.Principal{p}}
}

// principal is a match without its expression. RBAC has all kinds of conditions as principals.
func principal(m extend.RequestMatch, providers []string) *rbacv3.Principal {
	all := []*rbacv3.Principal{partsPrincipal(m.RequestParts, providers)}
	if m.Not != nil {
		all = append(all, NotPrincipal(partsPrincipal(*m.Not, providers)))
	}
	return AllOf(all)
}

func partsPrincipal(p extend.RequestParts, providers []string) *rbacv3.Principal {
	var all []*rbacv3.Principal
	one := func(list []*rbacv3.Principal) {
		if len(list) > 0 {
			all = append(all, OneOf(list))
		}
	}
	one(each(p.Hosts, host))
	one(each(p.Methods, func(m string) *rbacv3.Principal { return header(":method", extend.Exact, m, false) }))
	one(each(p.Paths, path))
	all = append(all, each(p.Headers, headers)...)
	all = append(all, each(p.Query, query)...)
	one(each(p.ClientCIDRs, address))
	all = append(all, each(p.Claims, func(c extend.ClaimMatch) *rbacv3.Principal { return claim(c, providers) })...)
	one(each(p.Users, func(u string) *rbacv3.Principal { return user(u, providers) }))
	one(each(p.Certificates, CertificatePrincipal))
	return AllOf(all)
}

func each[T any](list []T, render func(T) *rbacv3.Principal) (all []*rbacv3.Principal) {
	for _, v := range list {
		all = append(all, render(v))
	}
	return all
}

func anybody() *rbacv3.Principal {
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_Any{Any: true}}
}

func nobody() *rbacv3.Principal { return NotPrincipal(anybody()) }

// NotPrincipal takes what a principal does not take.
func NotPrincipal(p *rbacv3.Principal) *rbacv3.Principal {
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_NotId{NotId: p}}
}

// AllOf takes what all of some principals take; of none, everything.
func AllOf(list []*rbacv3.Principal) *rbacv3.Principal {
	switch len(list) {
	case 0:
		return anybody()
	case 1:
		return list[0]
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_AndIds{AndIds: &rbacv3.Principal_Set{Ids: list}}}
}

// OneOf takes what one of some principals takes; of none, nothing.
func OneOf(list []*rbacv3.Principal) *rbacv3.Principal {
	switch len(list) {
	case 0:
		return nobody()
	case 1:
		return list[0]
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_OrIds{OrIds: &rbacv3.Principal_Set{Ids: list}}}
}

// host compares a name as tables of routes do: in any case, with or without a port.
func host(name string) *rbacv3.Principal {
	expr := regexp.QuoteMeta(name)
	if suffix, wildcard := strings.CutPrefix(name, "*"); wildcard {
		expr = ".+" + regexp.QuoteMeta(suffix)
	}
	return header(":authority", extend.RegularExpression, expr+`\.?(?::[0-9]*)?`, true)
}

func path(p extend.PathMatch) *rbacv3.Principal {
	var list []*matcherv3.StringMatcher
	switch p.Type {
	case extend.PathExact:
		list = append(list, text(extend.Exact, p.Value, false))
		if p.Value == "/" {
			list = append(list, text(extend.Exact, "//", false)) // what is left of several slashes
		}
	case extend.PathPrefix:
		start := strings.TrimRight(p.Value, "/")
		if start == "" {
			return anybody()
		}
		list = append(list, text(extend.Exact, start, false), text(extend.Prefix, start+"/", false))
	default:
		list = append(list, text(extend.RegularExpression, p.Value, false))
	}
	return OneOf(each(list, func(m *matcherv3.StringMatcher) *rbacv3.Principal {
		return &rbacv3.Principal{Identifier: &rbacv3.Principal_UrlPath{
			UrlPath: &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: m}},
		}}
	}))
}

func headers(h extend.NamedMatch) *rbacv3.Principal {
	if h.Type == extend.Present {
		return headerPrincipal(&routev3.HeaderMatcher{
			Name: h.Name, HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true},
		})
	}
	return OneOf(each(h.Values, func(v string) *rbacv3.Principal { return header(h.Name, h.Type, v, h.IgnoreCase) }))
}

func query(q extend.NamedMatch) *rbacv3.Principal {
	return header(":path", extend.RegularExpression, extend.QueryExpression(q), false)
}

func header(name string, t extend.MatchType, value string, ignoreCase bool) *rbacv3.Principal {
	return headerPrincipal(&routev3.HeaderMatcher{
		Name:                 name,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: text(t, value, ignoreCase)},
	})
}

func headerPrincipal(h *routev3.HeaderMatcher) *rbacv3.Principal {
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_Header{Header: h}}
}

func address(cidr string) *rbacv3.Principal {
	of := CIDR(cidr)
	if of == nil {
		return nobody() // Validate says so
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_RemoteIp{RemoteIp: of}}
}

func claim(c extend.ClaimMatch, providers []string) *rbacv3.Principal {
	names, err := extend.ClaimPath(c.Claim)
	if err != nil {
		return nobody() // Validate says so
	}
	if c.Provider != "" {
		providers = []string{c.Provider}
	}
	value := claimValue(c)
	return OneOf(each(providers, func(provider string) *rbacv3.Principal {
		return MetadataPrincipal(ClaimsMetadata, append([]string{provider}, names...), value)
	}))
}

// claimValue compares a value, or an element of it if it is a list.
func claimValue(c extend.ClaimMatch) *matcherv3.ValueMatcher {
	if c.Type == extend.Present {
		return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_PresentMatch{PresentMatch: true}}
	}
	var values []*matcherv3.ValueMatcher
	for _, v := range c.Values {
		values = append(values, stringValue(text(c.Type, v, false)))
		number, err := strconv.ParseFloat(v, 64)
		switch {
		case c.Type != extend.Exact:
		case v == "true" || v == "false":
			values = append(values, &matcherv3.ValueMatcher{
				MatchPattern: &matcherv3.ValueMatcher_BoolMatch{BoolMatch: v == "true"},
			})
		case err == nil:
			exact := &matcherv3.DoubleMatcher{MatchPattern: &matcherv3.DoubleMatcher_Exact{Exact: number}}
			values = append(values, &matcherv3.ValueMatcher{
				MatchPattern: &matcherv3.ValueMatcher_DoubleMatch{DoubleMatch: exact},
			})
		}
	}
	element := &matcherv3.ListMatcher{MatchPattern: &matcherv3.ListMatcher_OneOf{OneOf: orValue(values)}}
	return orValue(append(values, &matcherv3.ValueMatcher{
		MatchPattern: &matcherv3.ValueMatcher_ListMatch{ListMatch: element},
	}))
}

func stringValue(m *matcherv3.StringMatcher) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: m}}
}

// orValue is one of some values. Envoy wants two at least.
func orValue(values []*matcherv3.ValueMatcher) *matcherv3.ValueMatcher {
	if len(values) == 1 {
		return values[0]
	}
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_OrMatch{
		OrMatch: &matcherv3.OrMatcher{ValueMatchers: values},
	}}
}

func user(name string, providers []string) *rbacv3.Principal {
	value := stringValue(text(extend.Exact, name, false))
	list := []*rbacv3.Principal{MetadataPrincipal(UserMetadata, []string{UserKey}, value)}
	for _, provider := range providers {
		list = append(list, MetadataPrincipal(ClaimsMetadata, []string{provider, "sub"}, value))
	}
	return OneOf(list)
}

// MetadataPrincipal compares what a filter has said of a request, by its namespace and the names that lead to a value.
func MetadataPrincipal(namespace string, path []string, value *matcherv3.ValueMatcher) *rbacv3.Principal {
	m := &matcherv3.MetadataMatcher{Filter: namespace, Value: value}
	for _, key := range path {
		m.Path = append(m.Path, &matcherv3.MetadataMatcher_PathSegment{
			Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: key},
		})
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_SourcedMetadata{
		SourcedMetadata: &rbacv3.SourcedMetadata{MetadataMatcher: m},
	}}
}

// text compares a text.
func text(t extend.MatchType, value string, ignoreCase bool) *matcherv3.StringMatcher {
	m := &matcherv3.StringMatcher{IgnoreCase: ignoreCase && t != extend.RegularExpression}
	switch t {
	case extend.Exact:
		m.MatchPattern = &matcherv3.StringMatcher_Exact{Exact: value}
	case extend.Prefix:
		m.MatchPattern = &matcherv3.StringMatcher_Prefix{Prefix: value}
	case extend.Suffix:
		m.MatchPattern = &matcherv3.StringMatcher_Suffix{Suffix: value}
	case extend.Contains:
		m.MatchPattern = &matcherv3.StringMatcher_Contains{Contains: value}
	default:
		regex := &matcherv3.RegexMatcher{Regex: extend.Expression(value, ignoreCase)}
		m.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex}
	}
	return m
}
