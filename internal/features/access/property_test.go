package access

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	mtlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/principals/mtls_authenticated/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// TestRenderedAsStated: what is rendered decides of each call as what is stated does. `make fuzz` makes a million
// cases; CARDEA_FUZZ_CASES=1 and CARDEA_FUZZ_SEED= repeat the one that failed.
func TestRenderedAsStated(t *testing.T) {
	t.Parallel()
	cases, first := fuzzing(t, 10_000)
	workers := uint64(runtime.GOMAXPROCS(0))
	var allowed atomic.Int64
	var group errgroup.Group
	for w := range workers {
		group.Go(func() error {
			for i := w; i < cases; i += workers {
				n, err := renderedAsStated(first + i)
				if err != nil {
					return err
				}
				allowed.Add(int64(n))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := uint64(allowed.Load()); cases >= 1000 && (n < cases/4 || n > 3*cases) {
		t.Errorf("%d of %d calls are allowed: the cases say little", n, 4*cases)
	}
}

// fuzzing is how many cases there are, and the seed of the first; each has the next seed.
func fuzzing(t *testing.T, usual uint64) (cases, seed uint64) {
	t.Helper()
	cases = usual
	for name, to := range map[string]*uint64{"CARDEA_FUZZ_CASES": &cases, "CARDEA_FUZZ_SEED": &seed} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			*to = n
		}
	}
	t.Logf("%d cases from CARDEA_FUZZ_SEED=%d", cases, seed)
	return cases, seed
}

// renderedAsStated makes a level and four calls, of which it counts those that are allowed.
func renderedAsStated(seed uint64) (allowed int, err error) {
	g := generator{rand.New(rand.NewPCG(seed, 1))}
	level, err := g.level()
	if err != nil {
		return 0, fmt.Errorf("seed %d: %w", seed, err)
	}
	p := new(proxy)
	level.renderFilters(p, Value{PortOffset: offset, Providers: []string{"a", "b"}})
	for range 4 {
		call := g.call()
		decided := level.DecideCall(call)
		want, got := decided.Allowed, p.allows(call)
		var asked []string
		for _, name := range decided.Asked {
			asked = append(asked, strings.TrimPrefix(name, "ns/p"))
		}
		if want != got || want && !slices.Equal(asked, p.asked) {
			return allowed, fmt.Errorf("seed %d: %+v\nmessage %+v\nof %+v\nis decided: %+v, by what is rendered: %v, asked %v",
				seed, call, call.Message, level, decided, got, p.asked)
		}
		if want {
			allowed++
		}
	}
	return allowed, nil
}

const offset = 1000

// generator makes policies and calls of few words, so that they often meet.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func some[T any](g generator, most int, make func() T) (list []T) {
	for range g.IntN(most + 1) {
		list = append(list, make())
	}
	return list
}

const callerX, callerY = "spiffe://td/ns/a/sa/x", "spiffe://td/ns/a/sa/y"

// level makes policies of both kinds. It fails if an XAccessPolicy is not read as it is meant.
func (g generator) level() (l Level, err error) {
	l.Name = "route"
	for i := range 1 + g.IntN(2) {
		if g.IntN(4) == 0 {
			p, err := g.upstream(fmt.Sprintf("ns/p%d", i))
			if err != nil {
				return l, err
			}
			l.Policies = append(l.Policies, p)
			continue
		}
		p := Policy{Name: fmt.Sprintf("ns/p%d", i), DryRun: g.IntN(8) == 0, Open: g.IntN(8) == 0}
		for j := range g.IntN(4) {
			p.Rules = append(p.Rules, g.rule(fmt.Sprintf("r%d", j)))
		}
		p.AsksOnly = g.IntN(6) == 0
		p.Open = p.Open && len(p.Rules) == 0 && !p.AsksOnly
		if p.AsksOnly || g.IntN(6) == 0 && allowsSome(p.Rules) {
			p.Asked = &Server{GRPC: g.IntN(2) == 0}
		}
		l.Policies = append(l.Policies, p)
	}
	return l, nil
}

// upstream makes an XAccessPolicy: a text with what such a policy can say, which is read.
func (g generator) upstream(name string) (p Policy, err error) {
	spec := xSpec{Action: pick(g, "Allow", "Allow", "Allow", "ExternalAuth")}
	p = Policy{Name: name, AsksOnly: spec.Action == "ExternalAuth"}
	if p.AsksOnly {
		spec.ExternalAuth, p.Asked = new(gatewayv1.HTTPExternalAuthFilter), &Server{GRPC: g.IntN(2) == 0}
	}
	for i := range g.IntN(4) {
		r := g.rule(fmt.Sprintf("r%d", i))
		r.Action, r.Sources = "", nil
		x := xRule{Name: r.Name}
		if id := pick(g, "", callerX, callerY, "spiffe://td/z"); id != "" {
			x.Source = &xSource{Type: BySPIFFE, SPIFFE: id}
			r.Sources = []Source{{Type: BySPIFFE, SPIFFE: &TextMatch{Value: id}}}
		}
		if r.Authorization != nil {
			x.Authorization = upstreamOf(r.Authorization)
		}
		spec.Rules, p.Rules = append(spec.Rules, x), append(p.Rules, r)
	}
	p.Open = len(p.Rules) == 0 && !p.AsksOnly
	text, err := json.Marshal(spec)
	must(err)
	read, err := specOf(extend.EachPolicy{Kind: XAccessPolicy.Name, Spec: text})
	if err != nil {
		return p, fmt.Errorf("%s: %w", text, err)
	}
	if !reflect.DeepEqual(read.Rules, p.Rules) || (read.ExternalAuth != nil) != p.AsksOnly {
		return p, fmt.Errorf("%s is read as %+v, want %+v", text, read, p)
	}
	p.Rules = read.Rules
	return p, nil
}

// upstreamOf writes an authorization in the form of XAccessPolicies, and takes out of it what they can't say.
func upstreamOf(a *Authorization) json.RawMessage {
	text, err := json.Marshal(a)
	must(err)
	var to map[string]any
	must(json.Unmarshal(text, &to))
	if a.MCP != nil {
		var methods []any
		for i := range a.MCP.Methods {
			m := &a.MCP.Methods[i]
			m.Arguments = nil
			var params []string
			for j := range m.Params {
				m.Params[j].Type = ""
				params = append(params, m.Params[j].Value)
			}
			methods = append(methods, map[string]any{"name": m.Name, "params": params})
		}
		to["mcp"].(map[string]any)["methods"] = methods
	}
	text, err = json.Marshal(to)
	must(err)
	return text
}

func (g generator) rule(name string) Rule {
	r := Rule{Name: name, Action: pick(g, Allow, Allow, "", Deny)}
	r.Sources = some(g, 2, func() Source {
		if g.IntN(4) == 0 {
			j := &JWT{Audience: pick(g, "", "tools"), Subject: pick(g, "", "bob")}
			if g.IntN(2) == 0 || len(j.claimMatches()) == 0 {
				j.Claims = []Claim{{pick(g, "team", "realm.n"), []string{pick(g, "red", "7", "true"), "blue"}}}
			}
			return Source{JWT: j}
		}
		id := pick(g, callerX, callerY, "spiffe://td/", "spiffe://*/x")
		return Source{SPIFFE: &TextMatch{pick(g, Exact, "", Prefix, Wildcard), id}}
	})
	if g.IntN(4) > 0 {
		a := &Authorization{Type: Inline}
		if g.IntN(4) == 0 {
			a.Methods = some(g, 2, func() string { return pick(g, "GET", "POST", "DELETE") })
			a.Ports = some(g, 1, func() int32 { return pick(g, int32(80), 443) })
			a.Paths = some(g, 1, func() Path {
				return Path{pick(g, "", "Exact", "PathPrefix", "RegularExpression"), pick(g, "/mcp", "/", "/mcp/x", "/m.p")}
			})
			a.Hosts = some(g, 1, func() string { return pick(g, "a.example", "*.example", "*.a.example") })
			a.Headers = some(g, 1, func() Header {
				return Header{pick(g, "", "RegularExpression"), pick(g, "x-a", "x-b"), pick(g, "1", "[12]")}
			})
		}
		if g.IntN(5) > 0 {
			a.MCP = &MCP{MCPBaseProtocolMethodsOption: pick(g, "", SkipBase, MatchBase), Methods: some(g, 2, g.method)}
		}
		r.Authorization = a
	}
	return r
}

func (g generator) method() Method {
	m := Method{Name: pick(g, "tools", "tools/call", "tools/call", "tools/list", "resources/read", "prompts/get")}
	if strings.Contains(m.Name, "/") {
		m.Params = some(g, 2, func() TextMatch {
			return TextMatch{pick(g, Exact, "", Prefix, Wildcard), pick(g, "a", "ab", "a*", "*b", "*", "file:///a")}
		})
	}
	if m.Name == "tools/call" {
		m.Arguments = some(g, 2, func() Argument {
			a := Argument{Path: pick(g, "n", "o.n", "o")}
			switch g.IntN(5) {
			case 0:
				a.Exact = new(g.scalar())
			case 1:
				a.OneOf = append(some(g, 2, g.scalar), g.scalar())
			case 2:
				a.Prefix = pick(g, "a", "1")
			case 3:
				a.Range = new(Range)
				if g.IntN(3) > 0 {
					a.Range.Min = &Scalar{Value: pick(g, 1.0, 5, -1)}
				}
				if g.IntN(3) > 0 || a.Range.Min == nil {
					a.Range.Max = &Scalar{Value: pick(g, 5.0, 10, 1)}
				}
			default:
				a.Present = true
			}
			return a
		})
	}
	return m
}

func (g generator) scalar() Scalar {
	return Scalar{Value: pick[any](g, "a", "ab", 1.0, 5.0, 5.5, true, false)}
}

func (g generator) value() any {
	return pick[any](g, "a", "ab", "1", 1.0, 5.0, 5.5, 10.0, true, false, []any{"a"}, []any{}, map[string]any{"n": 1.0})
}

func (g generator) call() Call {
	c := Call{
		Method: pick(g, "POST", "POST", "POST", "GET", "DELETE"), Path: pick(g, "/mcp", "/mcp/x", "/mcpx", "/other?/mcp"),
		Host: pick(g, "a.example", "b.a.example", "example", "a.example:443"), Port: pick(g, int32(80), 443),
		Header: http.Header{}, Caller: pick(g, "", callerX, callerX, callerY, "spiffe://td/z", "spiffe://other/x"),
		Server: g.IntN(8) > 0,
	}
	for _, name := range []string{"X-A", "X-B"} {
		c.Header[name] = some(g, 2, func() string { return pick(g, "1", "2", "12") })
	}
	if g.IntN(2) == 0 {
		c.Header.Set("Mcp-Session-Id", "1")
	}
	if g.IntN(2) == 0 {
		c.Claims = map[string]any{
			"sub": pick(g, "bob", "eve"), "aud": pick[any](g, "tools", []any{"x", "tools"}, []any{}, 1.0),
			"team":  pick[any](g, "red", "blue", 7.0, true, []any{7.0, "green"}),
			"realm": map[string]any{"n": pick[any](g, "red", 7.0)},
		}
	}
	if c.Server && c.Method == "POST" {
		m := &Message{
			Method: pick(g, "tools/call", "tools/call", "tools/list", "initialize", "notifications/x", "resources/read",
				"prompts/get", "toolsx", "completion/complete"),
		}
		m.Name, m.URI = pick(g, "a", "ab", "abb", "b", ""), pick(g, "file:///a", "a", "")
		if m.Reply = g.IntN(8) == 0; m.Reply {
			m = &Message{Reply: true}
		}
		if m.Method == "tools/call" {
			m.Arguments = map[string]any{}
			for _, name := range []string{"n", "o", "o.n"} {
				if g.IntN(3) > 0 {
					m.Arguments[name] = g.value()
				}
			}
		} else if m.Method == "tools/list" || m.Method == "initialize" {
			m.Name, m.URI = "", ""
		}
		c.Message = m
	}
	return c
}

// proxy does with a call what Envoy's filters do that are rendered for a level.
type proxy struct {
	envoy.Rule
	filters []filter
	asked   []string // the numbers of policies whose servers were asked about the last call
}

type filter struct {
	name   string
	config proto.Message
}

func (p *proxy) Filter(_ extend.Slot, name string, config proto.Message) {
	p.filters = append(p.filters, filter{name, config})
}

func (p *proxy) Sanitize(...string) {}

func (p *proxy) Cluster(extend.BackendKey) string { return "" }

func (p *proxy) allows(c Call) bool {
	at := metadataOf(c)
	p.asked = nil
	for _, f := range p.filters {
		switch config := f.config.(type) {
		case *filterv3.RBAC:
			if !at.passes(config, c) {
				return false
			}
		case *extauthzv3.ExtAuthz:
			if at.metadata(config.GetFilterEnabledMetadata()) && !config.GetShadowMode() {
				p.asked = append(p.asked, strings.Split(f.name, "/")[3])
			}
		}
	}
	return true
}

// passes does what a filter does: it refuses a call, or says what its shadow rules would do.
func (at metadata) passes(f *filterv3.RBAC, c Call) bool {
	say := func(key, value string) {
		if at[rbacNamespace] == nil {
			at[rbacNamespace] = map[string]any{}
		}
		at[rbacNamespace][f.GetShadowRulesStatPrefix()+key] = value
	}
	if tree := f.GetShadowMatcher(); tree != nil {
		if on := tree.GetMatcherTree().GetExactMatchMap().GetMap()[c.Caller]; on != nil {
			action := new(rbacv3.Action)
			must(on.GetAction().GetTypedConfig().UnmarshalTo(action))
			say("shadow_effective_policy_id", action.GetName())
		} else if c.Caller != "" {
			say("shadow_effective_policy_id", singleClass)
		}
	}
	if rules := f.GetShadowRules(); rules != nil {
		say("shadow_engine_result", map[bool]string{true: "allowed", false: "denied"}[at.allow(rules, c)])
	}
	return f.GetRules() == nil || at.allow(f.GetRules(), c)
}

func (at metadata) allow(rules *rbacv3.RBAC, c Call) bool {
	matched := false
	for _, policy := range rules.GetPolicies() {
		matched = matched || at.policy(policy, c)
	}
	return matched == (rules.GetAction() == rbacv3.RBAC_ALLOW)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// metadata is what the filters of SlotMCP say of a call.
type metadata map[string]map[string]any

func metadataOf(c Call) metadata {
	at := metadata{}
	if c.Claims != nil {
		at[envoy.ClaimsMetadata] = map[string]any{"b": c.Claims}
	}
	if !c.Server {
		return at
	}
	at[serverNamespace] = map[string]any{serverKey: true}
	if m := c.Message; m != nil {
		method := m.Method
		params := map[string]any{}
		if m.Name != "" {
			params["name"] = m.Name
		}
		if m.URI != "" {
			params["uri"] = m.URI
		}
		if m.Reply {
			method = replyMethod
		}
		if m.Arguments != nil {
			params["arguments"] = withoutLists(m.Arguments)
		}
		at[mcpNamespace] = map[string]any{"method": method, "is_mcp_request": true}
		if len(params) > 0 {
			at[mcpNamespace]["params"] = params
		}
	}
	return at
}

// withoutLists is what the parser keeps of arguments.
func withoutLists(from map[string]any) map[string]any {
	to := map[string]any{}
	for k, v := range from {
		switch v := v.(type) {
		case []any:
		case map[string]any:
			to[k] = withoutLists(v)
		default:
			to[k] = v
		}
	}
	return to
}

func (at metadata) policy(p *rbacv3.Policy, c Call) bool {
	permitted := slices.ContainsFunc(p.GetPermissions(), func(p *rbacv3.Permission) bool {
		return p.GetAny() || p.GetDestinationPort() == uint32(c.Port+offset)
	})
	return permitted && slices.ContainsFunc(p.GetPrincipals(), func(p *rbacv3.Principal) bool {
		return at.principal(p, c)
	})
}

func (at metadata) principal(p *rbacv3.Principal, c Call) bool {
	switch id := p.GetIdentifier().(type) {
	case *rbacv3.Principal_Any:
		return true
	case *rbacv3.Principal_NotId:
		return !at.principal(id.NotId, c)
	case *rbacv3.Principal_AndIds:
		return !slices.ContainsFunc(id.AndIds.GetIds(), func(p *rbacv3.Principal) bool { return !at.principal(p, c) })
	case *rbacv3.Principal_OrIds:
		return slices.ContainsFunc(id.OrIds.GetIds(), func(p *rbacv3.Principal) bool { return at.principal(p, c) })
	case *rbacv3.Principal_Custom:
		config := new(mtlsv3.Config)
		must(id.Custom.GetTypedConfig().UnmarshalTo(config))
		return c.Caller != "" && matchesText(config.GetSanMatcher().GetMatcher(), c.Caller)
	case *rbacv3.Principal_UrlPath:
		of, _, _ := strings.Cut(c.Path, "?")
		return matchesText(id.UrlPath.GetPath(), of)
	case *rbacv3.Principal_Header:
		return matchesHeader(id.Header, c)
	case *rbacv3.Principal_SourcedMetadata:
		return at.metadata(id.SourcedMetadata.GetMetadataMatcher())
	}
	panic(fmt.Sprintf("not evaluated: %v", p))
}

func (at metadata) metadata(m *matcherv3.MetadataMatcher) bool {
	var value any = map[string]any(at[m.GetFilter()])
	for _, segment := range m.GetPath() {
		object, _ := value.(map[string]any)
		value = object[segment.GetKey()]
	}
	return (value != nil && matchesValue(m.GetValue(), value)) != m.GetInvert()
}

func matchesHeader(h *routev3.HeaderMatcher, c Call) bool {
	if h.GetName() == ":path" {
		return matchesText(h.GetStringMatch(), c.Path)
	}
	values := c.Header.Values(h.GetName())
	switch h.GetName() {
	case ":method":
		values = []string{c.Method}
	case ":authority":
		values = []string{c.Host}
	}
	if h.GetPresentMatch() {
		return len(values) > 0
	}
	return slices.ContainsFunc(values, func(v string) bool { return matchesText(h.GetStringMatch(), v) })
}

func matchesText(m *matcherv3.StringMatcher, text string) bool {
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return text == p.Exact
	case *matcherv3.StringMatcher_Prefix:
		return strings.HasPrefix(text, p.Prefix)
	case *matcherv3.StringMatcher_SafeRegex:
		return regexp.MustCompile("^(?:" + p.SafeRegex.GetRegex() + ")$").MatchString(text)
	}
	panic(fmt.Sprintf("not evaluated: %v", m))
}

func matchesValue(m *matcherv3.ValueMatcher, value any) bool {
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.ValueMatcher_PresentMatch:
		return p.PresentMatch
	case *matcherv3.ValueMatcher_StringMatch:
		text, is := value.(string)
		return is && matchesText(p.StringMatch, text)
	case *matcherv3.ValueMatcher_BoolMatch:
		return value == p.BoolMatch
	case *matcherv3.ValueMatcher_OrMatch:
		return slices.ContainsFunc(p.OrMatch.GetValueMatchers(), func(m *matcherv3.ValueMatcher) bool {
			return matchesValue(m, value)
		})
	case *matcherv3.ValueMatcher_ListMatch:
		list, _ := value.([]any)
		return slices.ContainsFunc(list, func(v any) bool { return matchesValue(p.ListMatch.GetOneOf(), v) })
	case *matcherv3.ValueMatcher_DoubleMatch:
		number, is := value.(float64)
		if r := p.DoubleMatch.GetRange(); r != nil {
			return is && number >= r.GetStart() && number < r.GetEnd()
		}
		return is && number == p.DoubleMatch.GetExact()
	}
	panic(fmt.Sprintf("not evaluated: %v", m))
}
