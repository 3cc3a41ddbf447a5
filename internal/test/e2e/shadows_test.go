package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
)

// TestShadowsAreTrue: of a rule that is said to take no request, no request of a small world is answered, whatever the
// routes are.
func TestShadowsAreTrue(t *testing.T) {
	const worlds = 60
	hidden := 0
	for seed := range uint64(worlds) {
		hidden += checkShadows(t, seed)
	}
	if hidden < worlds/4 {
		t.Errorf("%d rules are hidden in %d worlds: too few to say anything", hidden, worlds)
	}
}

// checkShadows makes a world of random routes, and all requests that can tell its rules apart.
func checkShadows(t *testing.T, seed uint64) (hidden int) {
	w := shadowWorld(rand.New(rand.NewPCG(seed, 7)))
	var config *simulate.Config
	w.Graph.View(func(v flow.View) { config = simulationsOf(t, w, v)[0] })
	answered := map[string]bool{}
	for r := range smallRequests {
		for _, o := range config.SimulateRequest(r).Outcomes {
			answered[o.Route] = true
		}
	}
	for _, f := range w.Findings() {
		if !strings.HasPrefix(f.Message, "no request reaches this rule") {
			continue
		}
		hidden++
		for route := range answered {
			if strings.Contains(route, f.Object.Name()) && strings.HasSuffix(route, f.Section) {
				t.Errorf("seed %d: %s %s: %s, yet route %q answers", seed, f.Object, f.Section, f.Message, route)
			}
		}
	}
	return hidden
}

func smallRequests(yield func(request.Request) bool) {
	for _, host := range []string{"a.x", "b.x", "c.y"} {
		for _, path := range []string{"/", "/a", "/a/", "/a/b", "/ab", "/a/b/c", "/b", "/a?q=1", "/a/b?q=2"} {
			for _, header := range []string{"", "1", "2"} {
				for i, method := range []string{"GET", "POST", "GET", "POST"} {
					r := request.Request{Method: method, Host: host, Path: path, Port: Offset + 80 + uint32(i/2)}
					r.Header = http.Header{}
					if header != "" {
						r.Header.Set("h", header)
					}
					if !yield(r) {
						return
					}
				}
			}
		}
	}
}

func shadowWorld(random *rand.Rand) *world.World {
	w := world.New(world.Config{Dialects: dataplanes.All(), Extensions: Extensions(), Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}, PortOffset: Offset}})
	exact := gatewayv1.Hostname("a.x")
	all := gatewayv1.NamespacesFromAll
	routes := &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &all}}
	w.Graph.Apply("load", func(b *flow.Batch) {
		w.Sources.GatewayClasses.Set(b, model.Ref(model.KindGatewayClass, "", "cardea"),
			input.Object[gatewayv1.GatewayClassSpec]{Spec: &gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName}})
		w.Sources.Gateways.Set(b, model.Ref(model.KindGateway, "default", "web"),
			input.Object[gatewayv1.GatewaySpec]{Spec: &gatewayv1.GatewaySpec{
				GatewayClassName: "cardea", Listeners: []gatewayv1.Listener{
					{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType, AllowedRoutes: routes},
					{Name: "exact", Port: 81, Protocol: gatewayv1.HTTPProtocolType, AllowedRoutes: routes, Hostname: &exact},
				},
			}})
		for i := range 4 {
			w.Sources.HTTPRoutes.Set(b, model.Ref(model.KindHTTPRoute, "default", fmt.Sprintf("route%d", i)),
				input.Object[gatewayv1.HTTPRouteSpec]{
					Meta: model.Meta{Created: time.Unix(random.Int64N(2), 0)}, Spec: randomRoute(random),
				})
		}
		w.Sources.MarkSynced(b)
	})
	w.Graph.Settle()
	return w
}

func randomRoute(random *rand.Rand) *gatewayv1.HTTPRouteSpec {
	spec := &gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "web"}}},
	}
	for range random.IntN(3) {
		spec.Hostnames = append(spec.Hostnames, oneOf(random, []gatewayv1.Hostname{"a.x", "*.x", "b.x"}))
	}
	status := http.StatusFound
	for i := range 1 + random.IntN(3) {
		name := gatewayv1.SectionName(fmt.Sprintf("rule%d", i))
		rule := gatewayv1.HTTPRouteRule{Name: &name, Filters: []gatewayv1.HTTPRouteFilter{{
			Type:            gatewayv1.HTTPRouteFilterRequestRedirect,
			RequestRedirect: &gatewayv1.HTTPRequestRedirectFilter{StatusCode: &status},
		}}}
		for range 1 + random.IntN(2) {
			rule.Matches = append(rule.Matches, randomMatch(random))
		}
		spec.Rules = append(spec.Rules, rule)
	}
	return spec
}

func randomMatch(random *rand.Rand) (m gatewayv1.HTTPRouteMatch) {
	prefix, exact, regex := gatewayv1.PathMatchPathPrefix, gatewayv1.PathMatchExact,
		gatewayv1.PathMatchRegularExpression
	path := oneOf(random, []struct {
		kind  *gatewayv1.PathMatchType
		value string
	}{
		{&prefix, "/"}, {&prefix, "/a"}, {&prefix, "/a/b"}, {&exact, "/a"}, {&exact, "/a/b"}, {&regex, "/a/.*"},
		{&regex, "/.*"}, {&regex, "/(a|b)"}, {&regex, "/a.*"}, {&prefix, "/b/"},
		{&regex, "/a/*("}, // invalid: what begins with "/a" gets the error
	})
	m.Path = &gatewayv1.HTTPPathMatch{Type: path.kind, Value: &path.value}
	if method := oneOf(random, []gatewayv1.HTTPMethod{"", "", "GET", "POST"}); method != "" {
		m.Method = &method
	}
	expression := gatewayv1.HeaderMatchRegularExpression
	switch random.IntN(6) {
	case 0:
		m.Headers = []gatewayv1.HTTPHeaderMatch{{Name: "H", Value: "1"}}
	case 1:
		m.Headers = []gatewayv1.HTTPHeaderMatch{{Name: "h", Value: "2"}}
	case 2:
		m.Headers = []gatewayv1.HTTPHeaderMatch{{Name: "h", Value: ".*", Type: &expression}}
	case 3:
		m.QueryParams = []gatewayv1.HTTPQueryParamMatch{{Name: "q", Value: "1"}}
	}
	return m
}

func oneOf[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }
