package access

import (
	"math"
	"regexp"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"cardea.dev/cardea/extend"
)

const (
	// parsed is where the filter mcp says what it read of a message.
	parsed = "envoy.filters.http.mcp"
	// reply is what it calls the method of a message that has a result or an error.
	reply = "__jsonrpc_response"
	// rbacSays is where the filter rbac says what its shadow rules would do.
	rbacSays = "envoy.filters.http.rbac"
	// served is where it stands that a request goes to an MCP server.
	served    = "cardea.dev/mcp"
	servedKey = "server"
)

// of takes the requests of a rule, whoever calls. deny: what can't be told is taken.
func (a *Authorization) of(deny bool) *rbacv3.Principal {
	if a == nil {
		return extend.AllOf(nil)
	}
	all := []*rbacv3.Principal{}
	if m := a.match(); m != nil {
		all = append(all, extend.Policy(*m).GetPrincipals()...)
	}
	if a.MCP != nil {
		all = append(all, a.MCP.of(deny))
	}
	return extend.AllOf(all)
}

// match is what it states of HTTP; nil: nothing. Ports are not of it.
func (a *Authorization) match() *extend.RequestMatch {
	var m extend.RequestMatch
	m.Methods, m.Hosts = a.Methods, a.Hosts
	for _, p := range a.Paths {
		t := extend.PathMatchType(p.Type)
		if t == "" {
			t = extend.PathPrefix
		}
		m.Paths = append(m.Paths, extend.PathMatch{Type: t, Value: p.Value})
	}
	for _, h := range a.Headers {
		t := extend.MatchType(h.Type)
		if t == "" {
			t = extend.Exact
		}
		m.Headers = append(m.Headers, extend.NamedMatch{Name: h.Name, Type: t, Values: []string{h.Value}})
	}
	if len(m.Methods)+len(m.Hosts)+len(m.Paths)+len(m.Headers) == 0 {
		return nil
	}
	return &m
}

// expression is what it states in CEL; "": nothing.
func (a *Authorization) expression() string {
	if a == nil || a.CEL == nil {
		return ""
	}
	return strings.ReplaceAll(a.CEL.Expression, toolName, "metadata.filter_metadata['"+parsed+"']['params']['name']")
}

// toolName is a text in expressions, the name of the tool that is called.
const toolName = "request.mcp.tool_name"

// typed is its expression with another text in place of toolName. Both texts have the same length. Values in metadata
// can have any type, so nothing checks how the expression itself uses it.
func (a *Authorization) typed() string {
	const other = "request.url_path"
	return strings.ReplaceAll(a.CEL.Expression, toolName, other+strings.Repeat(" ", len(toolName)-len(other)))
}

// of takes messages to MCP servers.
func (m *MCP) of(deny bool) *rbacv3.Principal {
	var any []*rbacv3.Principal
	if m.MCPBaseProtocolMethodsOption == MatchBase {
		any = append(any, base()...)
	}
	for _, method := range m.Methods {
		any = append(any, method.of(deny))
	}
	return extend.OneOf(any)
}

// The methods that sessions need, and families of more methods.
var (
	baseMethods  = []string{"initialize", "server/discover", "ping", "tools/list", "subscriptions/listen"}
	baseFamilies = []string{"completion/", "logging/", "notifications/"}
)

// base takes what sessions need.
func base() []*rbacv3.Principal {
	var list []*rbacv3.Principal
	for _, name := range baseMethods {
		list = append(list, said(exactly(name), "method"))
	}
	for _, family := range baseFamilies {
		list = append(list, said(beginning(family), "method"))
	}
	server := extend.HasMetadata(served, servedKey)
	method := func(name string) *rbacv3.Principal {
		m := extend.RequestMatch{RequestParts: extend.RequestParts{Methods: []string{name}}}
		return extend.Policy(m).GetPrincipals()[0]
	}
	session := extend.RequestMatch{RequestParts: extend.RequestParts{
		Headers: []extend.NamedMatch{{Name: "mcp-session-id", Type: extend.Present}},
	}}
	return append(list,
		extend.AllOf([]*rbacv3.Principal{server, method("GET")}),
		extend.AllOf([]*rbacv3.Principal{server, method("DELETE"), extend.Policy(session).GetPrincipals()[0]}),
		said(exactly(reply), "method"))
}

// of takes messages of a method.
func (m Method) of(deny bool) *rbacv3.Principal {
	if !strings.Contains(m.Name, "/") {
		return said(beginning(m.Name+"/"), "method")
	}
	all := []*rbacv3.Principal{said(exactly(m.Name), "method")}
	if len(m.Params) > 0 {
		field := "name"
		if strings.HasPrefix(m.Name, "resources/") {
			field = "uri"
		}
		var any []*rbacv3.Principal
		for _, p := range m.Params {
			any = append(any, said(p.matcher(), "params", field))
		}
		all = append(all, extend.OneOf(any))
	}
	for _, a := range m.Arguments {
		if deny {
			all = append(all, extend.NotPrincipal(a.outside()))
		} else {
			all = append(all, a.inside())
		}
	}
	return extend.AllOf(all)
}

// said compares a text that the parser found in a message.
func said(m *matcherv3.StringMatcher, path ...string) *rbacv3.Principal {
	return extend.MetadataPrincipal(parsed, path, text(m))
}

func (a Argument) is(value *matcherv3.ValueMatcher) *rbacv3.Principal {
	names, _ := extend.ClaimPath(a.Path)
	return extend.MetadataPrincipal(parsed, append([]string{"params", "arguments"}, names...), value)
}

// inside takes messages with the argument, as far as the proxy sees it.
func (a Argument) inside() *rbacv3.Principal {
	var any []*rbacv3.Principal
	for _, v := range a.values() {
		any = append(any, a.is(v.matcher()))
	}
	switch {
	case a.Prefix != "":
		any = append(any, a.is(text(beginning(a.Prefix))))
	case a.Range != nil:
		least, beyond := a.Range.bounds()
		any = append(any, a.is(between(least, beyond)))
	case a.Present:
		there := &matcherv3.ValueMatcher_PresentMatch{PresentMatch: true}
		any = append(any, a.is(&matcherv3.ValueMatcher{MatchPattern: there}))
	}
	return extend.OneOf(any)
}

// outside takes messages that certainly have another argument: it is there, and it has the type that the rule asks for.
func (a Argument) outside() *rbacv3.Principal {
	var any []*rbacv3.Principal
	not := func(of *matcherv3.ValueMatcher, but ...*rbacv3.Principal) {
		all := []*rbacv3.Principal{a.is(of)}
		for _, b := range but {
			all = append(all, extend.NotPrincipal(b))
		}
		any = append(any, extend.AllOf(all))
	}
	byType := map[int][]*rbacv3.Principal{}
	for _, v := range a.values() {
		byType[v.kind()] = append(byType[v.kind()], a.is(v.matcher()))
	}
	for kind, of := range []*matcherv3.ValueMatcher{anyText, anyNumber, anyBool} {
		if equal := byType[kind]; len(equal) > 0 {
			not(of, equal...)
		}
	}
	switch {
	case a.Prefix != "":
		not(anyText, a.is(text(beginning(a.Prefix))))
	case a.Range != nil:
		least, beyond := a.Range.bounds()
		not(anyNumber, a.is(between(least, beyond)))
	}
	return extend.OneOf(any) // of present: never certain, since lists are not seen
}

func (a Argument) values() []Scalar {
	if a.Exact != nil {
		return []Scalar{*a.Exact}
	}
	return a.OneOf
}

var (
	anyText   = text(expression("(?s).*"))
	anyNumber = between(math.Inf(-1), math.Inf(1))
	anyBool   = or(boolean(true), boolean(false))
)

// The kinds of a Scalar: the places of anyText, anyNumber and anyBool in outside.
func (s Scalar) kind() int {
	switch s.Value.(type) {
	case string:
		return 0
	case float64:
		return 1
	}
	return 2
}

func (s Scalar) matcher() *matcherv3.ValueMatcher {
	switch v := s.Value.(type) {
	case string:
		return text(exactly(v))
	case float64:
		return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_DoubleMatch{
			DoubleMatch: &matcherv3.DoubleMatcher{MatchPattern: &matcherv3.DoubleMatcher_Exact{Exact: v}},
		}}
	case bool:
		return boolean(v)
	}
	return or(boolean(true), boolean(true))
}

// bounds are the least number, and the least that is too great.
func (r Range) bounds() (least, beyond float64) {
	least, beyond = math.Inf(-1), math.Inf(1)
	if r.Min != nil {
		least, _ = r.Min.Value.(float64)
	}
	if r.Max != nil {
		most, _ := r.Max.Value.(float64)
		beyond = math.Nextafter(most, math.Inf(1))
	}
	return least, beyond
}

// matcher compares a text.
func (m TextMatch) matcher() *matcherv3.StringMatcher {
	switch m.Type {
	case Prefix:
		return beginning(m.Value)
	case Wildcard:
		return expression(m.expression())
	}
	return exactly(m.Value)
}

// expression is a regular expression of all of a text.
func (m TextMatch) expression() string {
	switch m.Type {
	case Prefix:
		return "(?s)" + regexp.QuoteMeta(m.Value) + ".*"
	case Wildcard:
		var parts []string
		for _, p := range strings.Split(m.Value, "*") {
			parts = append(parts, regexp.QuoteMeta(p))
		}
		return "(?s)" + strings.Join(parts, ".*")
	}
	return regexp.QuoteMeta(m.Value)
}

func exactly(s string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: s}}
}

func beginning(s string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: s}}
}

func expression(expr string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
		SafeRegex: &matcherv3.RegexMatcher{Regex: expr},
	}}
}

func text(m *matcherv3.StringMatcher) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: m}}
}

func boolean(b bool) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_BoolMatch{BoolMatch: b}}
}

func between(least, beyond float64) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_DoubleMatch{DoubleMatch: &matcherv3.DoubleMatcher{
		MatchPattern: &matcherv3.DoubleMatcher_Range{Range: &typev3.DoubleRange{Start: least, End: beyond}},
	}}}
}

func or(a, b *matcherv3.ValueMatcher) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_OrMatch{
		OrMatch: &matcherv3.OrMatcher{ValueMatchers: []*matcherv3.ValueMatcher{a, b}},
	}}
}
