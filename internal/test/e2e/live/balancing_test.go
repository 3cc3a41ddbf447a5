package live

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/examples/calls"
)

// poolFile is a Service in namespace shop with one endpoint for each of some backends.
func poolFile(name string, backends ...string) string {
	text := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\n"+
		"spec: {ports: [{port: 80}]}\n", name)
	for i, b := range backends {
		text += fmt.Sprintf("---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"+
			"metadata: {name: %[1]s-%[2]d, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}\n"+
			"addressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]\nports: [{port: ${%[3]s}}]\n", name, i, b)
	}
	return text
}

// backendPolicyFile is a BackendPolicy for a Service, with features as they are written in YAML's flow style.
func backendPolicyFile(service, features string) string {
	return fmt.Sprintf("{apiVersion: cardea.dev/v1alpha1, kind: BackendPolicy, metadata: {name: %s, namespace: shop}, "+
		"spec: {targetRefs: [{group: '', kind: Service, name: %[1]s}], %s}}\n", service, features)
}

// ask makes one call and is its answer.
func (s *stage) ask(text string) calls.Answer {
	s.t.Helper()
	list, err := calls.Parse(strings.NewReader(text + " -> 200"))
	if err != nil {
		s.t.Fatal(err)
	}
	answers, err := s.client.Ask(s.t.Context(), list[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return answers[0]
}

// servers are the backends that answer some calls, one after the other.
func (s *stage) servers(n int, text func(i int) string) (names []string) {
	s.t.Helper()
	for i := range n {
		names = append(names, s.ask(text(i)).Header.Get("Served-By"))
	}
	return names
}

// TestHashKeysKeepAnEndpoint: requests with equal keys get to one endpoint, those with others get to all of them. The
// first key counts that a request has.
func TestHashKeysKeepAnEndpoint(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	s.write("pool.yaml", poolFile("ring", "blue", "green", "red")+"---\n"+poolFile("table", "blue", "green", "red")+
		"---\n"+poolFile("address", "blue", "green", "red"))
	s.write("route.yaml", routeFile("ring", "ring.example", to("ring"))+"---\n"+
		routeFile("table", "table.example", to("table"))+"---\n"+routeFile("address", "address.example", to("address")))
	s.write("policies.yaml", backendPolicyFile("ring", "loadBalancer: {ringHash: {minSize: 512, maxSize: 4096}, "+
		"boundedLoad: 500, hash: [{header: x-user}, {query: user}]}")+"---\n"+
		backendPolicyFile("table", "loadBalancer: {maglev: {tableSize: 1009}, hash: [{cookie: {name: s, ttl: 1h, path: /a, "+
			"sameSite: Lax, secure: true}}]}")+"---\n"+
		backendPolicyFile("address", "loadBalancer: {maglev: {}, hash: [{clientAddress: {}}]}"))
	s.start()
	s.Ready(t)
	for _, call := range []string{
		"GET http://ring.example/ -H x-user:%d", "GET http://ring.example/?user=%d",
		"GET http://table.example/ -H Cookie:s=%d",
	} {
		first := s.servers(20, func(i int) string { return fmt.Sprintf(call, i) })
		again := s.servers(20, func(i int) string { return fmt.Sprintf(call, i) })
		if fmt.Sprint(first) != fmt.Sprint(again) || different(first) < 2 {
			t.Errorf("%s: keys 0 to 19 got to %v and then to %v, want the same endpoints, more than one", call, first, again)
		}
	}
	header := s.servers(20, func(i int) string { return fmt.Sprintf("GET http://ring.example/?user=%d -H x-user:a", i) })
	address := s.servers(20, func(i int) string { return fmt.Sprintf("GET http://address.example/%d", i) })
	if different(header) != 1 || different(address) != 1 {
		t.Errorf("one header's value gets to %v, one client to %v, want one endpoint each", header, address)
	}
	answer := s.ask("GET http://table.example/a")
	cookie, err := http.ParseSetCookie(answer.Header.Get("Set-Cookie"))
	if err != nil || cookie.Name != "s" || cookie.MaxAge != 3600 || cookie.Path != "/a" || !cookie.Secure ||
		cookie.SameSite != http.SameSiteLaxMode || !cookie.HttpOnly {
		t.Fatalf("the answer sets cookie %q (%v)", answer.Header.Get("Set-Cookie"), err)
	}
	with := "GET http://table.example/a -H Cookie:s=" + cookie.Value
	for _, name := range s.servers(10, func(int) string { return with }) {
		if name != answer.Header.Get("Served-By") {
			t.Errorf("who has the cookie of %s gets to %s", answer.Header.Get("Served-By"), name)
		}
	}
}

// TestHashKeysSeeTheClientsAddress: the address that a ClientPolicy finds is the one that endpoints are chosen by.
func TestHashKeysSeeTheClientsAddress(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	s.write("pool.yaml", poolFile("address", "blue", "green", "red"))
	s.write("route.yaml", routeFile("address", "address.example", to("address")))
	s.write("policies.yaml", backendPolicyFile("address", "loadBalancer: {maglev: {}, hash: [{clientAddress: {}}]}")+
		"---\n"+clientPolicy("clients", "clientAddress: {xForwardedFor: {trustedHops: 1}}"))
	s.start()
	s.Ready(t)
	call := func(i int) string { return fmt.Sprintf("GET http://address.example/ -H x-forwarded-for:10.0.0.%d", i) }
	first, again := s.servers(20, call), s.servers(20, call)
	if fmt.Sprint(first) != fmt.Sprint(again) || different(first) < 2 {
		t.Errorf("addresses 0 to 19 got to %v and then to %v, want the same endpoints, more than one", first, again)
	}
}

func different(names []string) int {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return len(set)
}

// TestAlgorithms: roundRobin alternates, random does not, and leastRequest leaves out an endpoint that is at work. An
// edit from one to another needs no new endpoints.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	held, release := make(chan string), make(chan string)
	for _, name := range []string{"blue", "green"} {
		serving(t, s, name, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/held" {
				held <- name
				<-release
			}
		})
	}
	s.write("pool.yaml", poolFile("pool", "blue", "green"))
	s.write("route.yaml", routeFile("web", "shop.example", to("pool")))
	s.write("policy.yaml", backendPolicyFile("pool", "loadBalancer: {roundRobin: {}}"))
	s.start()
	s.Ready(t)
	const call = "GET http://shop.example/"
	alternates := func() bool {
		names := s.servers(40, func(int) string { return call })
		for i, n := range names {
			if n != names[i%2] {
				return false
			}
		}
		return different(names) == 2
	}
	if !alternates() {
		t.Error("roundRobin does not alternate")
	}
	s.write("policy.yaml", backendPolicyFile("pool", "loadBalancer: {random: {}}"))
	e2e.Eventually(t, func() error {
		if alternates() {
			return fmt.Errorf("random alternates 40 times")
		}
		return nil
	})
	s.write("policy.yaml", backendPolicyFile("pool", "loadBalancer: {leastRequest: {choices: 100}}"))
	e2e.Eventually(t, func() error { return s.sparesTheBusy(held, release) })
}

// sparesTheBusy has an endpoint hold a request until others were answered, and wants none of these to be there.
func (s *stage) sparesTheBusy(held, release chan string) error {
	answered := make(chan error, 1)
	go func() { answered <- s.try("GET http://shop.example/held -> 200") }()
	busy := <-held
	free := s.servers(20, func(int) string { return "GET http://shop.example/" })
	release <- busy
	if err := <-answered; err != nil {
		return err
	}
	if slices.Contains(free, busy) {
		return fmt.Errorf("%s gets requests while it works on one: %v", busy, free)
	}
	return nil
}

// serving is a backend with a handler of its own, which tells its name.
func serving(t *testing.T, s *stage, name string, handler http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Served-By", name)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	s.ports[name] = server.Listener.Addr().(*net.TCPAddr).Port
}
