package envoy

import (
	"net/http"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	jwtauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// stateEach states one setting at each level, and serves a host for each: GATEWAY.test, listener.own.test, and so on.
func stateEach(t *testing.T, bind int32, by func(level string) plan.Setting) *world {
	w := newStatedWorld(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("every", ""), testListener("own", "*.own.test"))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		one := func(level string) []plan.Setting {
			s := by(level)
			s.From = model.Ref(model.KindOf("test", "Policy"), "shop", level)
			return []plan.Setting{s}
		}
		w.stated.gateways.Set(b, testGateway, one("gateway"))
		w.stated.listeners.Set(b, testListener("own", "").Key, one("listener"))
		w.serve(b, 1, 80, "every", "gateway.test", forward("gateway", prefix("/")))
		for _, level := range []string{"listener", "route", "rule", "backendRef"} {
			r := forward(level, prefix("/"))
			w.serve(b, 1, 80, "own", level+".own.test", r)
			var settings plan.RouteSettings
			switch level {
			case "route":
				settings = plan.RouteSettings{Own: one("route")}
			case "rule":
				settings = plan.RouteSettings{Own: one("route"), Rules: []plan.RuleSettings{{Rule: r.Key, Own: one("rule")}}}
			case "backendRef":
				settings = plan.RouteSettings{Own: one("route"), Rules: []plan.RuleSettings{{
					Rule: r.Key, Own: one("rule"), Backends: [][]plan.Setting{one("backendRef")},
				}}}
			}
			w.stated.routes.Set(b, r.Key.Route, settings)
		}
	})
	return w
}

// hosts of stateEach, from far to near.
var levelHosts = []string{"gateway.test", "listener.own.test", "route.own.test", "rule.own.test", "backendRef.own.test"}

// alternate turns a setting on at every other level, beginning with the Gateway.
func alternate(on, off plan.Setting) func(level string) plan.Setting {
	return func(level string) plan.Setting {
		switch level {
		case "listener", "rule":
			return off
		}
		return on
	}
}

func statusAt(t *testing.T, bind int32, host string) int {
	return call{Host: host, URI: "/"}.do(t, bind).Status
}

// TestLimitSlots: a local limit is on where the nearest level turns it on, and an edit of the table does not fill its
// bucket.
func TestLimitSlots(t *testing.T) {
	entry := message.MustMarshal(&localratelimitv3.LocalRateLimit{
		TokenBucket: &typev3.TokenBucket{
			MaxTokens: 3, TokensPerFill: wrapperspb.UInt32(1), FillInterval: durationpb.New(time.Hour),
		},
	})
	for _, slot := range []string{httpfilters.LimitsEarly, httpfilters.EarlyProxy, httpfilters.LimitsLate,
		httpfilters.LateProxy} {
		t.Run(slot, func(t *testing.T) {
			bind := freePort(t)
			w := stateEach(t, bind, alternate(plan.Setting{Slot: slot}, plan.Setting{Slot: slot, Off: true}))
			w.apply(func(b *flow.Batch) {
				w.stated.shared.Set(b, plan.SharedKey{Gateway: testGateway, Slot: slot, ID: "bucket"},
					plan.SharedEntry{From: testGateway, Value: entry})
			})
			w.serveLive(t)
			eventually(t, "it serves", func() bool { return statusAt(t, bind, "listener.own.test") == 200 })
			for range 3 {
				if got := statusAt(t, bind, "gateway.test"); got != 200 {
					t.Fatalf("%d within the limit", got)
				}
			}
			check := func(when string) {
				t.Helper()
				for i, host := range levelHosts {
					want := 429 - 229*(i%2)
					if got := statusAt(t, bind, host); got != want {
						t.Errorf("%s: %s: %d, want %d", when, host, got, want)
					}
				}
			}
			check("at first")
			w.g.Apply("test", func(b *flow.Batch) { w.setRule(b, forward("rule", prefix("/"), prefix("/edited"))) })
			w.g.Apply("test", func(b *flow.Batch) {
				w.serve(b, 1, 80, "every", "new.test", model.Rule{
					Key: testRuleKey("new"), Matches: []model.Match{prefix("/")},
					Redirect: &model.Redirect{Scheme: "https", StatusCode: 301},
				})
				w.stated.routes.Set(b, testRuleKey("new").Route, plan.RouteSettings{Own: []plan.Setting{{Slot: slot, Off: true}}})
			})
			eventually(t, "the edit is live", func() bool { return statusAt(t, bind, "new.test") == 301 })
			check("after edits of the table")
		})
	}
}

// TestJWTSlot: the nearest level chooses the requirement; one that does not exist refuses every request.
func TestJWTSlot(t *testing.T) {
	entry := append(testProvider("corp", testKeys), message.MustMarshal(&jwtauthnv3.JwtAuthentication{
		RequirementMap: map[string]*jwtauthnv3.JwtRequirement{
			"any": {RequiresType: &jwtauthnv3.JwtRequirement_AllowMissing{AllowMissing: &emptypb.Empty{}}},
		},
	})...)
	for name, c := range map[string]struct {
		on, off plan.Setting
		status  int // where it is on
	}{
		"required": {require("corp"), require("any"), 401},
		"off":      {require("corp"), plan.Setting{Slot: httpfilters.JWT, Off: true}, 401},
		"unknown":  {require("none"), require("any"), 403},
	} {
		t.Run(name, func(t *testing.T) {
			bind := freePort(t)
			w := stateEach(t, bind, alternate(c.on, c.off))
			w.apply(func(b *flow.Batch) {
				w.stated.shared.Set(b, plan.SharedKey{Gateway: testGateway, Slot: httpfilters.JWT, ID: "corp"},
					plan.SharedEntry{From: testGateway, Value: entry})
			})
			startProxy(t, w.resources())
			for i, host := range levelHosts {
				want := []int{c.status, 200}[i%2]
				if got := statusAt(t, bind, host); got != want {
					t.Errorf("%s: %d, want %d", host, got, want)
				}
			}
		})
	}
}

// testProvider is a provider of tokens, and the requirement of its name that asks for one.
func testProvider(name, keys string) []byte {
	return message.MustMarshal(&jwtauthnv3.JwtAuthentication{
		Providers: map[string]*jwtauthnv3.JwtProvider{name: {
			Issuer: "https://" + name + ".test",
			JwksSourceSpecifier: &jwtauthnv3.JwtProvider_LocalJwks{LocalJwks: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: keys},
			}},
		}},
		RequirementMap: map[string]*jwtauthnv3.JwtRequirement{
			name: {RequiresType: &jwtauthnv3.JwtRequirement_ProviderName{ProviderName: name}},
		},
	})
}

// require asks for a requirement of the slot jwt.
func require(name string) plan.Setting {
	s := httpfilters.NewSetting(httpfilters.JWT, "", &jwtauthnv3.PerRouteConfig{
		RequirementSpecifier: &jwtauthnv3.PerRouteConfig_RequirementName{RequirementName: name},
	})
	s.From = testGateway
	return s
}

// testKeys is a set of keys of which the test knows no private one.
const testKeys = `{"keys":[{"kty":"EC","crv":"P-256","kid":"1","alg":"ES256",` +
	`"x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}`

// TestLoopsSlot: the guard runs as the list has it where the nearest level turns it on. One that was refused is closed.
func TestLoopsSlot(t *testing.T) {
	on, off := plan.Setting{Slot: httpfilters.Loops}, plan.Setting{Slot: httpfilters.Loops, Off: true}
	for name, c := range map[string]struct {
		on     plan.Setting
		status int // where it is on, of a request that has made all hops
		others int // and of others
	}{
		"on": {on, 508, 200}, "refused": {httpfilters.CloseSetting(on), 500, 500},
	} {
		t.Run(name, func(t *testing.T) {
			bind := freePort(t)
			startProxy(t, stateEach(t, bind, alternate(c.on, off)).resources())
			for i, host := range levelHosts {
				header := map[string]string{model.LoopHeader: extendenvoy.LastHop().Value}
				last := call{Host: host, URI: "/", Header: header}.do(t, bind).Status
				if want := []int{c.status, 200}[i%2]; last != want {
					t.Errorf("%s: %d, want %d", host, last, want)
				}
				if got, want := statusAt(t, bind, host), []int{c.others, 200}[i%2]; got != want {
					t.Errorf("%s: %d before the last hop, want %d", host, got, want)
				}
			}
		})
	}
}

// TestCORSSlot: of CORS settings counts the nearest, as a whole.
func TestCORSSlot(t *testing.T) {
	bind := freePort(t)
	origins := []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "https:"}}}
	w := stateEach(t, bind, func(level string) plan.Setting {
		p := &corsv3.CorsPolicy{AllowOriginStringMatch: origins, AllowMethods: level}
		if level == "gateway" {
			p.ExposeHeaders, p.MaxAge, p.AllowHeaders = "x-gateway", "60", "x-gateway"
		}
		return httpfilters.NewSetting(httpfilters.CORS, "", p)
	})
	startProxy(t, w.resources())
	for i, host := range levelHosts {
		level := []string{"gateway", "listener", "route", "rule", "backendRef"}[i]
		a := call{Method: http.MethodOptions, Host: host, URI: "/", Header: map[string]string{
			"Origin": "https://a.test", "Access-Control-Request-Method": "GET",
		}}.do(t, bind)
		if got := a.Header.Get("Access-Control-Allow-Methods"); got != level {
			t.Errorf("%s: allowed methods %q, want %q", host, got, level)
		}
		if level == "gateway" {
			continue
		}
		for _, name := range []string{"Access-Control-Max-Age", "Access-Control-Allow-Headers"} {
			if got := a.Header.Get(name); got != "" {
				t.Errorf("%s: %s %q of the Gateway", host, name, got)
			}
		}
	}
}
