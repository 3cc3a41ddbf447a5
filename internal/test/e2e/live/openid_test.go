package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// provider is a real OpenID provider: a child process at an address of its own.
type provider struct {
	t       testing.TB
	binary  string
	address string
	process *exec.Cmd
}

// newProvider chooses the address; start starts it.
func newProvider(t testing.TB) *provider {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := &provider{t: t, binary: e2e.BuiltPart(t, "openid"), address: l.Addr().String()}
	t.Cleanup(p.stop)
	return p
}

func (p *provider) port() int {
	_, port, _ := net.SplitHostPort(p.address)
	var n int
	fmt.Sscan(port, &n)
	return n
}

func (p *provider) issuer() string { return "http://" + p.address }

// start starts it, with a new key.
func (p *provider) start() {
	p.t.Helper()
	p.process = exec.Command(p.binary, p.address)
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	e2e.Eventually(p.t, func() error {
		response, err := http.Get(p.issuer() + "/healthz")
		if err == nil {
			response.Body.Close()
		}
		return err
	})
}

func (p *provider) stop() {
	if p.process != nil {
		_ = p.process.Process.Kill()
		_ = p.process.Wait()
		p.process = nil
	}
}

// token is a token that it makes now.
func (p *provider) token() string {
	p.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"openid"}}
	request, _ := http.NewRequest(http.MethodPost, p.issuer()+"/oauth/token", strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth("sid1", "verysecret")
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	p.ask(request, &answer)
	if strings.Count(answer.AccessToken, ".") != 2 {
		p.t.Fatalf("%q is not a token of three parts", answer.AccessToken)
	}
	return answer.AccessToken
}

// rotate replaces its key.
func (p *provider) rotate() {
	request, _ := http.NewRequest(http.MethodPost, p.issuer()+"/rotate", nil)
	p.ask(request, nil)
}

// asked tells how often its key set was answered, by status.
func (p *provider) asked() (n map[string]int) {
	request, _ := http.NewRequest(http.MethodGet, p.issuer()+"/asked", nil)
	p.ask(request, &n)
	return n
}

func (p *provider) ask(request *http.Request, into any) {
	p.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK || into != nil && json.Unmarshal(body, into) != nil {
		p.t.Fatalf("%s: %s %s", request.URL, response.Status, body)
	}
}

// login is a SecurityPolicy that asks for the provider's tokens, whose keys are at a URL.
func (p *provider) login(name, target, remote string) string {
	return fmt.Sprintf(`
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: %s, namespace: shop}
spec:
  targetRefs: [%s]
  jwt:
    providers: [{name: real, issuer: '%s', audiences: [sid1], jwks: {remote: {url: '%s/keys', %s}}}]
`, name, target, p.issuer(), p.issuer(), remote)
}

const rulePrefix = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: "

// TestARealProvider: keys that are not known yet are 503, never open and never invalid. Once they are, a policy that
// says Programmed is enforced; what is unchanged is not sent again; a rotation is one ECDS resource and
// no route table, however many rules ask for the provider's tokens; and keys are kept while the provider is down.
func TestARealProvider(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80), "blue.yaml", serviceFile("blue", "blue")))
	s.ports["keys"] = p.port()
	s.write("keys.yaml", serviceFile("keys", "keys"))
	s.write("route.yaml", routeFile("web", "shop.example", "{name: all, "+to("blue")+"}",
		"{name: through, matches: [{path: {value: /through}}], "+to("blue")+"}",
		"{name: proxy, matches: [{path: {value: /proxy}}], "+to("blue")+"}"))
	s.write("login.yaml", p.login("login", theGateway, "refresh: 1s"))
	s.write("through.yaml", p.login("through", rulePrefix+"through}", "refresh: 1s, backendRef: {name: keys, port: 80}"))
	s.write("proxy.yaml",
		p.login("proxy", rulePrefix+"proxy}", "refresh: 1s, fetchedBy: Proxy, backendRef: {name: keys, port: 80}"))
	s.start()
	s.Ready(t)
	s.soon("GET http://shop.example/ -> 503\nGET http://shop.example/through -> 503\nGET http://shop.example/proxy -> 401")
	s.says("securitypolicies/shop/login", "web: Accepted=True", "web: ResolvedRefs=Unknown KeySetPending")

	p.start()
	s.says("securitypolicies/shop/login", "web: ResolvedRefs=True", "web: cardea.dev/Programmed=True")
	s.expect("GET http://shop.example/ -> 401\nGET http://shop.example/ -t none -> 401")
	token := p.token()
	with := func(token string, status int) string {
		all := ""
		for _, path := range []string{"", "through", "proxy"} {
			all += fmt.Sprintf("GET http://shop.example/%s -t %s -> %d\n", path, token, status)
		}
		return all
	}
	s.soon(with(token, 200))

	s.write("beside.yaml", routeFile("beside", "beside.example", to("blue")))
	s.soon("GET http://beside.example/ -t " + token + " -> 200")
	e2e.Eventually(t, func() error {
		if n := s.gauges("cardea_fetches_total", "outcome"); n["not-modified"] < 2 || n["changed"] != 2 {
			return fmt.Errorf("fetches %v, want each key set once, and then that it has not changed", n)
		}
		if n := p.asked(); n["304"] == 0 {
			return fmt.Errorf("the provider answered %v, want a 304", n)
		}
		return nil
	})

	since := s.counters("cardea_xds_responses_total")
	p.rotate()
	other := p.token()
	s.soon(with(other, 200))
	s.soon(with(token, 401))
	if sent := s.sent(since); sent != "Extension" {
		t.Errorf("a rotation sent %s, want Extension only", sent)
	}

	p.stop()
	e2e.Eventually(t, func() error {
		if n := s.gauges("cardea_fetches_total", "outcome"); n["failed"] == 0 {
			return fmt.Errorf("fetches %v, want failures", n)
		}
		return nil
	})
	s.expect("GET http://shop.example/ -t " + other + " -> 200\nGET http://shop.example/ -> 401")
	p.start()
	s.soon(with(p.token(), 200))
}

// TestTheFirstAnswerIsUnderThePolicy: a folder in which a route and its policy appear together, and a program that
// starts again, never answer a request as if the policy were not there, nor as if its keys were not known.
func TestTheFirstAnswerIsUnderThePolicy(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.start()
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80), "blue.yaml", serviceFile("blue", "blue")))
	for i := range 20 {
		host := fmt.Sprintf("h%d.example", i)
		s.write(host+".yaml", routeFile(fmt.Sprintf("h%d", i), host, to("blue")))
	}
	s.write("login.yaml", p.login("login", theGateway, "refresh: 1s"))
	for range 2 {
		s.start()
		first := func() error {
			for {
				request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet,
					fmt.Sprintf("http://%s:%d/", s.Address, 80+e2e.Offset), nil)
				request.Host = "h19.example"
				response, err := http.DefaultTransport.RoundTrip(request)
				if err != nil {
					return err // nobody listens yet
				}
				response.Body.Close()
				if response.StatusCode != http.StatusUnauthorized {
					t.Errorf("an early answer is %s, want 401", response.Status)
				}
				return nil
			}
		}
		e2e.Eventually(t, first)
		s.Ready(t)
		s.Stop(t)
	}
}
