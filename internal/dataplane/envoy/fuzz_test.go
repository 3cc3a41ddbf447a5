package envoy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// FuzzRule: whatever a rule holds, what it is rendered to is a valid route, for each match, or nothing with a reason.
func FuzzRule(f *testing.F) {
	f.Add("PathPrefix", "/a/", "GET", "x-h", "v%", false, "/b", "h.test", "https", int32(0), 302, uint32(1), uint8(0))
	f.Add("RegularExpression", "/(", "", "Host", "(", true, "", "", "", int32(80), 200, uint32(0), uint8(255))
	f.Add("PathPrefix", "a+", "b", "x-h", "v%", true, "/b", "h.test", "https", int32(0), 302, uint32(1), uint8(0))
	f.Add("Exact", "/a?b\x00\xff", "a b", ":x", "\n", true, "?", "\n", "ftp", int32(-1), 0, uint32(1<<32-1), uint8(3))
	f.Fuzz(func(
		t *testing.T, pathType, path, method, name, value string, regex bool, rewrite, host, scheme string,
		port int32, code int, weight uint32, flags uint8,
	) {
		flag := func(bit int) bool { return flags>>bit&1 == 1 }
		for _, text := range []string{path, method, value} { // the plan has no others
			if model.CheckRegex(text) != nil {
				regex = false
			}
		}
		if pathType == string(model.PathRegex) && model.CheckRegex(path) != nil {
			pathType = string(model.PathExact)
		}
		r := model.Rule{
			Key: testRuleKey("rule"),
			Matches: []model.Match{
				{Path: model.PathMatch{Type: model.PathType(pathType), Value: path}},
				{Method: method, Headers: []model.ValueMatch{{Name: name, Value: value, Regex: regex}}},
				{Query: []model.ValueMatch{{Name: name, Value: value, Regex: regex}}},
				{GRPC: &model.GRPCMatch{Service: path, Method: method, Regex: regex}},
			},
			Backends: []model.WeightedBackend{
				{Backend: service("a"), Weight: weight, Invalid: flag(0)},
				{Backend: service("b"), Weight: weight / 2, Invalid: flag(1)},
			},
		}
		change := &model.HeaderModifier{
			Set: []model.Header{{Name: name, Value: value}}, Add: []model.Header{{Name: host, Value: rewrite}},
			Remove: []string{scheme},
		}
		if flag(2) {
			r.RequestHeaders = change
		}
		if flag(3) {
			r.ResponseHeaders = change
		}
		to := &model.PathRewrite{Prefix: flag(4), Value: rewrite}
		if flag(5) {
			r.Rewrite = &model.Rewrite{Hostname: host, Path: to}
		}
		if flag(6) {
			r.Redirect = &model.Redirect{Scheme: scheme, Hostname: host, Port: port, Path: to, StatusCode: code}
		}
		if flag(7) {
			r.Error = code
		}
		checkRendered(t, r)
	})
}

func checkRendered(t testing.TB, r model.Rule) {
	t.Helper()
	at := route.ListenerContext{Scheme: "http", Port: 8080}
	f := renderRule(route.Rule{Rule: r}, at)
	if again := renderRule(route.Rule{Rule: r}, at); again.Hash != f.Hash {
		t.Errorf("rendered twice, %x became %x", f.Hash, again.Hash)
	}
	if len(f.Routes) != len(r.Matches) {
		t.Fatalf("%d routes for %d matches", len(f.Routes), len(r.Matches))
	}
	for i, b := range f.Routes {
		if b != nil {
			checkRoute(t, b)
		} else if len(f.Problems) == 0 {
			t.Errorf("match %d has no route and there is no reason", i)
		}
	}
	for i, b := range substituteRoutes(r) {
		if b != nil {
			for _, route := range checkRoute(t, b) {
				checkSubstitute(t, route.GetMatch())
			}
		} else if _, ok := r.Matches[i].WithoutRegex(); ok && len(f.Problems) == 0 {
			t.Errorf("match %d has no substitute and there is no reason", i)
		}
	}
}

// checkSubstitute wants no expression of the user's: that may be what was refused.
func checkSubstitute(t testing.TB, m *routev3.RouteMatch) {
	t.Helper()
	expressions := []string{m.GetSafeRegex().GetRegex()}
	for _, h := range m.Headers {
		expressions = append(expressions, h.GetStringMatch().GetSafeRegex().GetRegex())
	}
	for _, q := range m.QueryParameters {
		expressions = append(expressions, q.GetStringMatch().GetSafeRegex().GetRegex())
	}
	for _, e := range expressions {
		if e != "" && e != ".*" {
			t.Errorf("a substitute has the expression %q", e)
		}
	}
}

// checkRoute holds the VirtualHost.routes fields of a match against the rules in Envoy's protos.
func checkRoute(t testing.TB, b []byte) []*routev3.Route {
	t.Helper()
	host := new(routev3.VirtualHost)
	if err := proto.Unmarshal(b, host); err != nil {
		t.Fatal(err)
	}
	if len(host.Routes) == 0 {
		t.Fatal("no routes")
	}
	for _, route := range host.Routes {
		if err := route.ValidateAll(); err != nil {
			t.Error(err)
		}
	}
	return host.Routes
}

// TestEnvoyTakesWhateverIsRendered: many rules made of awkward words; the real Envoy refuses none, since the
// state server fails the test for every refusal.
func TestEnvoyTakesWhateverIsRendered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{
		"", "/", "/a", "/a/b/", "a", "//", "/%", "%", "%REQ(x)%", "%%", "x-h", "Host", ":path", "host.test", "a b", "é",
		"\\1", "\\",
		"(", "[a-z]+", "/a(b|c)?.*", "?", "/a?b#c", "#", "\n", "\x00", "\xff", "{x}", "*", "'", "content-length",
		"connection", "te",
		"transfer-encoding", "https", "http", "ftp", strings.Repeat("x", 5000), strings.Repeat(`(\p{L}|.)`, 40), `[^/]{200}`,
		`\p{Letter}`, `\p{greek}`, `\p{Greek}\pN\p{^Lu}`, `\p{Cn}`, `\p{LC}`, `\p{Any}\P{ASCII}`, `a\Qb.c`, `\Q\p{x}\E[0-9]`,
		`/\x{10FFFF}`, `[\400]`, `\x{FF}[\x{80}-é]`, `[α-ω]+`, "\\Q\ufeff",
	}
	word := func() string { return words[random.IntN(len(words))] }
	header := func() string { // the plan changes no Host, and no pseudo header
		for {
			if w := word(); w != "Host" && w != ":path" {
				return w
			}
		}
	}
	isRegex := func(text string) bool { return model.CheckRegex(text) == nil } // the plan has no others
	values := func() (list []model.ValueMatch) {
		for range random.IntN(3) {
			v := model.ValueMatch{Name: word(), Value: word()}
			v.Regex = random.IntN(2) == 0 && isRegex(v.Value)
			list = append(list, v)
		}
		return list
	}
	types := []model.PathType{"", model.PathPrefix, model.PathExact, model.PathRegex}
	codes := []int{301, 302, 303, 307, 308, 200}
	ports := []int32{0, 1, 80, 443, 65535}

	w := newWorld(t)
	served := 0
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, freePort(t), model.HTTP, testListener("http", ""))
		w.addBackend(b, service("a"))
		for i := range 1000 {
			r := model.Rule{Key: testRuleKey(fmt.Sprint(i))}
			for range 1 + random.IntN(2) {
				m := model.Match{
					Path:    model.PathMatch{Type: types[random.IntN(len(types))], Value: word()},
					Headers: values(), Query: values(),
				}
				if m.Path.Type == model.PathRegex && !isRegex(m.Path.Value) {
					m.Path.Type = model.PathExact
				}
				if random.IntN(4) == 0 {
					g := model.GRPCMatch{Service: word(), Method: word()}
					g.Regex = random.IntN(2) == 0 && isRegex(g.Service) && isRegex(g.Method)
					m = model.Match{GRPC: &g}
				}
				r.Matches = append(r.Matches, m)
			}
			change := &model.HeaderModifier{
				Set: []model.Header{{Name: header(), Value: word()}}, Add: []model.Header{{Name: header(), Value: word()}},
				Remove: []string{header()},
			}
			path := &model.PathRewrite{Prefix: random.IntN(2) == 0, Value: word()}
			switch random.IntN(5) {
			case 0:
				r.Redirect = &model.Redirect{
					Scheme: word(), Hostname: word(), Port: ports[random.IntN(len(ports))], Path: path,
					StatusCode: codes[random.IntN(len(codes))],
				}
			case 1:
				r.Backends, r.Rewrite = to("a"), &model.Rewrite{Hostname: word(), Path: path}
			case 2:
				r.Backends, r.RequestHeaders = to("a"), change
			case 3:
				r.Backends, r.ResponseHeaders = to("a"), change
			}
			checkRendered(t, r)
			f := renderRule(route.Rule{Rule: r}, route.ListenerContext{Scheme: "http", Port: 80})
			if len(f.Problems) == 0 {
				served++
			}
			if !slices.ContainsFunc(f.Routes, func(b []byte) bool { return b != nil }) {
				continue
			}
			w.serve(b, i, 80, "http", fmt.Sprintf("h%d.test", i%50), r)
		}
	})
	startProxy(t, w.resources())
	if served < 50 {
		t.Errorf("only %d of 1000 rules are served as written", served)
	}
}
