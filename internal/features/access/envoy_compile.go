package access

import (
	"math"
	"regexp"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

const (
	// mcpNamespace is where the filter mcp says what it read of a message.
	mcpNamespace = "envoy.filters.http.mcp"
	// replyMethod is what it calls the method of a message that has a result or an error.
	replyMethod = "__jsonrpc_response"
	// rbacNamespace is where the filter rbac says what its shadow rules would do.
	rbacNamespace = "envoy.filters.http.rbac"
	// serverNamespace is where it stands that a request goes to an MCP server.
	serverNamespace = "cardea.dev/mcp"
	serverKey       = "server"
)

// compilePrincipal takes the requests of a rule, whoever calls. deny: what can't be told is taken.
func (a *Authorization) compilePrincipal(deny bool) *rbacv3.Principal {
	if a == nil {
		return envoy.AllOf(nil)
	}
	all := []*rbacv3.Principal{}
	if m := a.httpMatch(); m != nil {
		all = append(all, envoy.MatchPolicy(*m).GetPrincipals()...)
	}
	if a.MCP != nil {
		all = append(all, a.MCP.compilePrincipal(deny))
	}
	return envoy.AllOf(all)
}

// httpMatch is what it states of HTTP; nil: nothing. Ports are not of it.
func (a *Authorization) httpMatch() *extend.RequestMatch {
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

// celExpression is what it states in CEL; "": nothing.
func (a *Authorization) celExpression() string {
	if a == nil || a.CEL == nil {
		return ""
	}
	return strings.ReplaceAll(a.CEL.Expression, toolName, "metadata.filter_metadata['"+mcpNamespace+"']['params']['name']")
}

// toolName is a text in expressions, the name of the tool that is called.
const toolName = "request.mcp.tool_name"

// checkableCEL is its expression with another text in place of toolName. Both texts have the same length. Values in
// metadata can have any type, so nothing checks how the expression itself uses it.
func (a *Authorization) checkableCEL() string {
	const other = "request.url_path"
	return strings.ReplaceAll(a.CEL.Expression, toolName, other+strings.Repeat(" ", len(toolName)-len(other)))
}

// compilePrincipal takes messages to MCP servers.
func (m *MCP) compilePrincipal(deny bool) *rbacv3.Principal {
	var any []*rbacv3.Principal
	if m.MCPBaseProtocolMethodsOption == MatchBase {
		any = append(any, baseProtocolPrincipals()...)
	}
	for _, method := range m.Methods {
		any = append(any, method.compilePrincipal(deny))
	}
	return envoy.OneOf(any)
}

// The methods that sessions need, and families of more methods.
var (
	baseMethods  = []string{"initialize", "server/discover", "ping", "tools/list", "subscriptions/listen"}
	baseFamilies = []string{"completion/", "logging/", "notifications/"}
)

// baseProtocolPrincipals takes what sessions need.
func baseProtocolPrincipals() []*rbacv3.Principal {
	var list []*rbacv3.Principal
	for _, name := range baseMethods {
		list = append(list, matchMessageText(exactMatcher(name), "method"))
	}
	for _, family := range baseFamilies {
		list = append(list, matchMessageText(prefixMatcher(family), "method"))
	}
	server := envoy.HasMetadata(serverNamespace, serverKey)
	method := func(name string) *rbacv3.Principal {
		m := extend.RequestMatch{RequestParts: extend.RequestParts{Methods: []string{name}}}
		return envoy.MatchPolicy(m).GetPrincipals()[0]
	}
	session := extend.RequestMatch{RequestParts: extend.RequestParts{
		Headers: []extend.NamedMatch{{Name: "mcp-session-id", Type: extend.Present}},
	}}
	return append(list,
		envoy.AllOf([]*rbacv3.Principal{server, method("GET")}),
		envoy.AllOf([]*rbacv3.Principal{server, method("DELETE"), envoy.MatchPolicy(session).GetPrincipals()[0]}),
		matchMessageText(exactMatcher(replyMethod), "method"))
}

// compilePrincipal takes messages of a method.
func (m Method) compilePrincipal(deny bool) *rbacv3.Principal {
	if !strings.Contains(m.Name, "/") {
		return matchMessageText(prefixMatcher(m.Name+"/"), "method")
	}
	all := []*rbacv3.Principal{matchMessageText(exactMatcher(m.Name), "method")}
	if len(m.Params) > 0 {
		field := "name"
		if strings.HasPrefix(m.Name, "resources/") {
			field = "uri"
		}
		var any []*rbacv3.Principal
		for _, p := range m.Params {
			any = append(any, matchMessageText(p.stringMatcher(), "params", field))
		}
		all = append(all, envoy.OneOf(any))
	}
	for _, a := range m.Arguments {
		if deny {
			all = append(all, envoy.NotPrincipal(a.mismatchPrincipal()))
		} else {
			all = append(all, a.matchPrincipal())
		}
	}
	return envoy.AllOf(all)
}

// matchMessageText compares a text that the parser found in a message.
func matchMessageText(m *matcherv3.StringMatcher, path ...string) *rbacv3.Principal {
	return envoy.MetadataPrincipal(mcpNamespace, path, textValueMatcher(m))
}

func (a Argument) valuePrincipal(value *matcherv3.ValueMatcher) *rbacv3.Principal {
	names, _ := extend.ClaimPath(a.Path)
	return envoy.MetadataPrincipal(mcpNamespace, append([]string{"params", "arguments"}, names...), value)
}

// matchPrincipal takes messages with the argument, as far as the proxy sees it.
func (a Argument) matchPrincipal() *rbacv3.Principal {
	var any []*rbacv3.Principal
	for _, v := range a.exactValues() {
		any = append(any, a.valuePrincipal(v.valueMatcher()))
	}
	switch {
	case a.Prefix != "":
		any = append(any, a.valuePrincipal(textValueMatcher(prefixMatcher(a.Prefix))))
	case a.Range != nil:
		least, beyond := a.Range.floatBounds()
		any = append(any, a.valuePrincipal(rangeMatcher(least, beyond)))
	case a.Present:
		there := &matcherv3.ValueMatcher_PresentMatch{PresentMatch: true}
		any = append(any, a.valuePrincipal(&matcherv3.ValueMatcher{MatchPattern: there}))
	}
	return envoy.OneOf(any)
}

// mismatchPrincipal takes messages that certainly have another argument: it is there, and it has the type that the rule
// asks for.
func (a Argument) mismatchPrincipal() *rbacv3.Principal {
	var any []*rbacv3.Principal
	not := func(of *matcherv3.ValueMatcher, but ...*rbacv3.Principal) {
		all := []*rbacv3.Principal{a.valuePrincipal(of)}
		for _, b := range but {
			all = append(all, envoy.NotPrincipal(b))
		}
		any = append(any, envoy.AllOf(all))
	}
	byType := map[int][]*rbacv3.Principal{}
	for _, v := range a.exactValues() {
		byType[v.typeIndex()] = append(byType[v.typeIndex()], a.valuePrincipal(v.valueMatcher()))
	}
	for kind, of := range []*matcherv3.ValueMatcher{anyText, anyNumber, anyBool} {
		if equal := byType[kind]; len(equal) > 0 {
			not(of, equal...)
		}
	}
	switch {
	case a.Prefix != "":
		not(anyText, a.valuePrincipal(textValueMatcher(prefixMatcher(a.Prefix))))
	case a.Range != nil:
		least, beyond := a.Range.floatBounds()
		not(anyNumber, a.valuePrincipal(rangeMatcher(least, beyond)))
	}
	return envoy.OneOf(any) // of present: never certain, since lists are not seen
}

func (a Argument) exactValues() []Scalar {
	if a.Exact != nil {
		return []Scalar{*a.Exact}
	}
	return a.OneOf
}

var (
	anyText   = textValueMatcher(regexMatcher("(?s).*"))
	anyNumber = rangeMatcher(math.Inf(-1), math.Inf(1))
	anyBool   = orMatcher(boolMatcher(true), boolMatcher(false))
)

// typeIndex is the kind of a Scalar: the place of anyText, anyNumber and anyBool in outside.
func (s Scalar) typeIndex() int {
	switch s.Value.(type) {
	case string:
		return 0
	case float64:
		return 1
	}
	return 2
}

func (s Scalar) valueMatcher() *matcherv3.ValueMatcher {
	switch v := s.Value.(type) {
	case string:
		return textValueMatcher(exactMatcher(v))
	case float64:
		return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_DoubleMatch{
			DoubleMatch: &matcherv3.DoubleMatcher{MatchPattern: &matcherv3.DoubleMatcher_Exact{Exact: v}},
		}}
	case bool:
		return boolMatcher(v)
	}
	return orMatcher(boolMatcher(true), boolMatcher(true))
}

// floatBounds are the least number, and the least that is too great.
func (r Range) floatBounds() (least, beyond float64) {
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

// stringMatcher compares a text.
func (m TextMatch) stringMatcher() *matcherv3.StringMatcher {
	switch m.Type {
	case Prefix:
		return prefixMatcher(m.Value)
	case Wildcard:
		return regexMatcher(m.toRegex())
	}
	return exactMatcher(m.Value)
}

// toRegex is a regular expression of all of a text.
func (m TextMatch) toRegex() string {
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

func exactMatcher(s string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: s}}
}

func prefixMatcher(s string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: s}}
}

func regexMatcher(expr string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
		SafeRegex: &matcherv3.RegexMatcher{Regex: expr},
	}}
}

func textValueMatcher(m *matcherv3.StringMatcher) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_StringMatch{StringMatch: m}}
}

func boolMatcher(b bool) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_BoolMatch{BoolMatch: b}}
}

func rangeMatcher(least, beyond float64) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_DoubleMatch{DoubleMatch: &matcherv3.DoubleMatcher{
		MatchPattern: &matcherv3.DoubleMatcher_Range{Range: &typev3.DoubleRange{Start: least, End: beyond}},
	}}}
}

func orMatcher(a, b *matcherv3.ValueMatcher) *matcherv3.ValueMatcher {
	return &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_OrMatch{
		OrMatch: &matcherv3.OrMatcher{ValueMatchers: []*matcherv3.ValueMatcher{a, b}},
	}}
}
