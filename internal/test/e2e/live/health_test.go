package live

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// onlyBy wants that of many calls, one after the other, all are answered by one of some backends, and by each of them.
func (s *stage) onlyBy(call string, names ...string) error {
	got := map[string]bool{}
	for _, n := range s.servers(20, func(int) string { return call }) {
		got[n] = true
	}
	for _, n := range names {
		if !got[n] {
			return fmt.Errorf("%s got no request: %v", n, got)
		}
	}
	if len(got) != len(names) {
		return fmt.Errorf("requests got to %v, want %v", got, names)
	}
	return nil
}

// TestHealthChecks: an endpoint that fails its check gets no requests, and gets them again once it passes. The request
// of the check is as stated. With a panicThreshold of 0, one that fails gets none even if there is no other.
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	var sick, asked atomic.Bool
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	serving(t, s, "blue", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			return
		}
		if r.Method == http.MethodHead && r.Host == "check.example" {
			asked.Store(true)
		}
		if sick.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	serving(t, s, "green", func(http.ResponseWriter, *http.Request) {})
	s.write("pool.yaml", poolFile("pool", "blue", "green")+"---\n"+poolFile("one", "blue"))
	s.write("route.yaml", routeFile("web", "shop.example", to("pool"))+"---\n"+routeFile("one", "one.example", to("one")))
	check := "healthCheck: {interval: 50ms, unhealthy: 1, http: {path: /health, method: HEAD, host: check.example}}"
	policies := func(panic string) {
		s.write("policies.yaml", backendPolicyFile("pool", check)+"---\n"+
			backendPolicyFile("one", "panicThreshold: "+panic+", "+check))
	}
	policies("0")
	s.start()
	s.Ready(t)
	const call = "GET http://shop.example/"
	e2e.Eventually(t, func() error { return s.onlyBy(call, "blue", "green") })
	s.soon("GET http://one.example/ -> 200")
	if !asked.Load() {
		t.Error("no check is a HEAD request for check.example")
	}
	s.told("http://one.example/", "answer Service shop/one port 80", "endpoints that fail a health check get no requests",
		"503 unless an endpoint is healthy", "healthCheck.http.path")
	sick.Store(true)
	e2e.Eventually(t, func() error { return s.onlyBy(call, "green") })
	s.soon("GET http://one.example/ -> 503")
	policies("50")
	s.soon("GET http://one.example/ -> 200") // all of them: none is healthy
	sick.Store(false)
	e2e.Eventually(t, func() error { return s.onlyBy(call, "blue", "green") })
}

// TestUnhealthyIsCounted: checks that fail fewer times in a row than `unhealthy` says take no endpoint out, whatever
// they fail with; that many do.
func TestUnhealthyIsCounted(t *testing.T) {
	t.Parallel()
	const full = 3
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	var routes, policies string
	sick := map[string]*atomic.Bool{}
	checks := map[string]*atomic.Int64{}
	for name, check := range map[string]string{
		"plain": "{path: /health}", "expected": "{path: /health, expected: ['200-299']}",
		"stated": "{path: /health, retriable: ['500-503']}",
	} {
		dead, asked := new(atomic.Bool), new(atomic.Int64)
		sick[name], checks[name] = dead, asked
		serving(t, s, name, func(w http.ResponseWriter, r *http.Request) {
			// All but each third check fails, once there was one.
			if r.URL.Path == "/health" && (asked.Add(1)%full != 1 || dead.Load()) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		s.write(name+".yaml", serviceFile(name, name))
		routes += routeFile(name, name+".example", to(name)) + "---\n"
		policies += backendPolicyFile(name, "panicThreshold: 0, "+
			"healthCheck: {interval: 20ms, unhealthy: 3, http: "+check+"}") + "---\n"
	}
	s.write("routes.yaml", routes)
	s.write("policies.yaml", policies)
	s.start()
	s.Ready(t)
	for name, asked := range checks {
		call := "GET http://" + name + ".example/ -> 200"
		s.soon(call)
		for until := asked.Load() + 4*full; asked.Load() < until; {
			s.expect(call)
		}
		sick[name].Store(true)
		s.soon("GET http://" + name + ".example/ -> 503")
	}
}

// TestUnhealthyAtOnce: the header x-envoy-immediate-health-check-fail takes an endpoint out at once in the answer to a
// request, and never in the answer to a check, whatever its status is: checks are counted.
func TestUnhealthyAtOnce(t *testing.T) {
	t.Parallel()
	const header = "x-envoy-immediate-health-check-fail"
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	var failing, checks atomic.Int64
	serving(t, s, "check", func(w http.ResponseWriter, r *http.Request) { // its check fails, and says so
		if r.URL.Path == "/health" && failing.Load() > 0 {
			checks.Add(1)
			w.Header().Set(header, "true")
			if failing.Load() == 2 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
	})
	serving(t, s, "traffic", func(w http.ResponseWriter, r *http.Request) { // another answer says so
		if r.URL.Path == "/bye" {
			w.Header().Set(header, "true")
		}
	})
	for name, interval := range map[string]string{"check": "20ms", "traffic": "1h"} {
		s.write(name+".yaml", serviceFile(name, name)+"---\n"+routeFile(name, name+".example", to(name))+"---\n"+
			backendPolicyFile(name, "panicThreshold: 0, healthCheck: "+
				"{interval: "+interval+", unhealthy: 1000, http: {path: /health}}"))
	}
	s.start()
	s.Ready(t)
	s.soon("GET http://check.example/ -> 200")
	s.soon("GET http://traffic.example/ -> 200")
	s.expect("GET http://traffic.example/bye -> 200")
	s.soon("GET http://traffic.example/ -> 503")
	for _, way := range []int64{1, 2} {
		failing.Store(way)
		for until := checks.Load() + 50; checks.Load() < until; {
			s.expect("GET http://check.example/ -> 200")
		}
		s.expect("GET http://check.example/ -> 200")
	}
}

// TestHealthChecksOfGRPC asks a real server for the health of one of its services.
func TestHealthChecksOfGRPC(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	server, state := grpc.NewServer(grpc.UnaryInterceptor(func(
		ctx context.Context, request any, _ *grpc.UnaryServerInfo, answer grpc.UnaryHandler,
	) (any, error) {
		asked.Add(1)
		return answer(ctx, request)
	})), health.NewServer()
	healthpb.RegisterHealthServer(server, state)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	state.SetServingStatus("shop", healthpb.HealthCheckResponse_SERVING)
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	s.ports["rpc"] = l.Addr().(*net.TCPAddr).Port
	s.write("rpc.yaml", serviceFile("rpc", "rpc"))
	s.write("route.yaml", "{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, "+
		"metadata: {name: rpc, namespace: shop}, spec: {parentRefs: [{name: web}], "+
		"rules: [{backendRefs: [{name: rpc, port: 80}]}]}}\n")
	s.write("policy.yaml", backendPolicyFile("rpc", "panicThreshold: 0, "+
		"healthCheck: {interval: 50ms, unhealthy: 1000, grpc: {service: shop}}"))
	s.start()
	s.Ready(t)
	const call = "GRPC http://rpc.example/shop.Cart/Add" // the server has no such method, and says so
	s.soon(call + " -> UNIMPLEMENTED")
	before := asked.Load()
	state.SetServingStatus("shop", healthpb.HealthCheckResponse_NOT_SERVING)
	s.soon(call + " -> UNAVAILABLE")
	if n := asked.Load() - before; n > 500 { // at once, whatever the threshold is
		t.Errorf("it is out after %d checks", n)
	}
	state.SetServingStatus("shop", healthpb.HealthCheckResponse_SERVING)
	s.soon(call + " -> UNIMPLEMENTED")
}

// TestEditsOfOthersKeepHealth: a backend with health checks is not sent again when a route is edited, so what is known
// of its endpoints stays. One that never answers its checks holds up nobody.
func TestEditsOfOthersKeepHealth(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := prepare(t, t.TempDir(), shop())
	s.ports["silent"] = silent.Addr().(*net.TCPAddr).Port
	s.write("silent.yaml", serviceFile("silent", "silent"))
	s.write("both.yaml", routeFile("both", "both.example", "{matches: [{path: {value: /silent}}], "+to("silent")+"}",
		"{matches: [{path: {value: /green}}], "+to("green")+"}"))
	check := "healthCheck: {interval: 1s, timeout: 1s, http: {}}"
	s.write("silent-policy.yaml", backendPolicyFile("silent", check))
	s.write("blue-policy.yaml", backendPolicyFile("blue", "healthCheck: {interval: 50ms, http: {}}"))
	s.start()
	s.Ready(t)
	s.soon("GET http://shop.example/ -> 200 blue")
	s.soon("GET http://both.example/green -> 200 green")
	before := s.counters("cardea_xds_responses_total")
	s.write("route.yaml", routeFile("web", "shop.example", "{matches: [{path: {value: /new}}], "+to("blue")+"}"))
	s.soon("GET http://shop.example/new -> 200 blue\nGET http://shop.example/ -> 404")
	if sent := s.sent(before); sent != "Routes" {
		t.Errorf("an edit of a route sent %q, want Routes only", sent)
	}
}

// TestOutlierDetection: an endpoint whose answers fail three times in a row gets no more requests.
func TestOutlierDetection(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{
		"5xx":            "consecutive5xx: 3, ejectionTime: 1h",
		"gateway errors": "consecutive5xx: 0, consecutiveGatewayErrors: 3, ejectionTime: 1h, maxEjected: 50",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failed atomic.Int64
			s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
			serving(t, s, "bad", func(w http.ResponseWriter, _ *http.Request) {
				failed.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			serving(t, s, "good", func(http.ResponseWriter, *http.Request) {})
			s.write("pool.yaml", poolFile("pool", "bad", "good"))
			s.write("route.yaml", routeFile("web", "shop.example", to("pool")))
			s.write("policy.yaml", backendPolicyFile("pool", "outlierDetection: {"+policy+"}"))
			s.start()
			s.Ready(t)
			e2e.Eventually(t, func() error { return s.onlyBy("GET http://shop.example/", "good") })
			if n := failed.Load(); n < 3 {
				t.Errorf("it was ejected after %d failures, want 3 at least", n)
			}
			s.expect("GET http://shop.example/ *20 -> 200")
		})
	}
}
