package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/explain"
)

func TestMain(m *testing.M) {
	// after a question that is too long
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// objects is a few objects by their reference.
type objects map[model.ObjectRef]string

func (o objects) Count(kind model.Kind) (int, error) {
	list, err := o.List(kind, "")
	return len(list), err
}

func (o objects) List(kind model.Kind, namespace string) ([]json.RawMessage, error) {
	var list []json.RawMessage
	for ref, text := range o {
		if ref.Kind() == kind && (namespace == "" || namespace == ref.Namespace()) {
			list = append(list, json.RawMessage(text))
		}
	}
	return list, nil
}

func (o objects) Get(ref model.ObjectRef) (json.RawMessage, bool, error) {
	text, ok := o[ref]
	return json.RawMessage(text), ok, nil
}

// config is that of a small world.
func config(t *testing.T) Config {
	t.Helper()
	graph := flow.New(flow.Config{Name: t.Name(), Check: true})
	source := flow.NewSource[string, int](graph, "input/number")
	graph.Apply("test", func(b *flow.Batch) {
		source.Set(b, "one", 1)
		source.MarkSynced(b)
	})
	graph.Settle()
	metrics := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "cardea_test_total"})
	metrics.MustRegister(counter)
	return Config{
		Catalog: kinds.NewCatalog(),
		Addr:    "127.0.0.1:0",
		Graph:   graph,
		Objects: objects{
			model.Ref(model.KindGateway, "shop", "web"):     `{"kind":"Gateway","metadata":{"namespace":"shop","name":"web"}}`,
			model.Ref(model.KindGateway, "other", "api"):    `{"kind":"Gateway","metadata":{"namespace":"other","name":"api"}}`,
			model.Ref(model.KindGatewayClass, "", "cardea"): `{"kind":"GatewayClass","metadata":{"name":"cardea"}}`,
			model.Ref(model.KindSecret, "shop", "cert"): `{"kind":"Secret","metadata":{"name":"cert"},` +
				`"data":{"tls.key":"cHJpdmF0ZQ=="}}`,
		},
		Ready:     func() (bool, string) { return true, "" },
		Gatherer:  metrics,
		Explainer: explainer{}, Differ: differ{},
		Findings: func() []Finding {
			return []Finding{{Severity: "error", Object: "Gateway shop/web", Message: "no such class"}}
		},
	}
}

// start runs a Server until the test ends and returns its address.
func start(t *testing.T, c Config) string {
	t.Helper()
	listens := make(chan string, 1)
	c.OnListen = func(addr string) { listens <- addr }
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
	select {
	case addr := <-listens:
		return addr
	case err := <-done:
		done <- err
		t.Fatalf("Run = %v", err)
		return ""
	}
}

// get asks; host, if not "", is sent as the Host header.
func get(t *testing.T, method, url, host string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// explainer knows one object and no request.
type explainer struct{}

func (explainer) ExplainRequest(q explain.Question) (explain.Story, error) {
	if q.URL == "" {
		return explain.Story{}, errors.New("want a whole URL")
	}
	return explain.Story{Request: fmt.Sprint(q)}, nil
}

func (explainer) ExplainObject(ref model.ObjectRef) (explain.Object, bool) {
	return explain.Object{Object: ref.String()}, ref.Name() == "web" || ref.Name() == "cardea"
}

func (explainer) ExplainAccess(ref model.ObjectRef) (a explain.Access, err error) {
	if ref.Kind() == model.KindMCPBackend && ref.Name() == "tools" {
		a = explain.Access{Backend: ref.String(), Places: []explain.AccessPlace{{Rule: "a", Listener: "b", Open: true}}}
	}
	return a, nil
}

// busy counts who is answered at a time.
type busy struct {
	explainer
	now, most *atomic.Int32
	proceed   chan struct{}
}

func (b busy) ExplainObject(ref model.ObjectRef) (explain.Object, bool) {
	n := b.now.Add(1)
	defer b.now.Add(-1)
	for most := b.most.Load(); n > most && !b.most.CompareAndSwap(most, n); most = b.most.Load() {
	}
	<-b.proceed
	return b.explainer.ExplainObject(ref)
}

// TestFewAreExplainedAtATime: the others wait, and those who wait no more are not answered.
func TestFewAreExplainedAtATime(t *testing.T) {
	b := busy{now: new(atomic.Int32), most: new(atomic.Int32), proceed: make(chan struct{})}
	c := config(t)
	c.Explainer = b
	addr := "http://" + start(t, c) + "/explain/gtw/shop/web"
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			if code, body := get(t, "GET", addr, ""); code != http.StatusOK {
				t.Errorf("%d %s", code, body)
			}
		})
	}
	for range 6 {
		b.proceed <- struct{}{}
	}
	group.Wait()
	if n := b.most.Load(); n < 1 || n > 2 {
		t.Errorf("%d are answered at a time", n)
	}
	full := make(limiter, 1)
	leave := full.acquireSlot(t.Context())
	ctx, gone := context.WithCancel(t.Context())
	gone()
	if full.acquireSlot(ctx) != nil {
		t.Error("there is room for one more")
	}
	leave()
	if full.acquireSlot(t.Context()) == nil {
		t.Error("who leaves makes no room")
	}
}

// TestSlowBodiesKeepNobodyWaiting: who asks for an explanation and does not send the body takes no place of others.
func TestSlowBodiesKeepNobodyWaiting(t *testing.T) {
	at := start(t, config(t))
	for range 4 {
		slow, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		fmt.Fprintf(slow, "POST /explain?url=http://a/ HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n", at)
		if line, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%q, %v; want it to be read", line, err)
		}
	}
	if code, body := get(t, "GET", "http://"+at+"/explain/gtw/shop/web", ""); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
}

// differ takes every edit.
type differ struct{}

func (differ) Diff(e diff.Edit) (diff.Report, error) {
	if len(e.Objects) == 0 {
		return diff.Report{}, fmt.Errorf("nothing: %w", diff.ErrBadObject)
	}
	return diff.Report{Objects: []string{fmt.Sprintf("%T %v", e.Objects[0]["n"], e.Prune)}}, nil
}

// TestDiffIsAskedByPost: as JSON, and by nothing that a browser would send for a stranger's page.
func TestDiffIsAskedByPost(t *testing.T) {
	addr := start(t, config(t))
	for _, c := range []struct {
		method, kind, body string
		code               int
		want               string
	}{
		{"POST", "application/json", `{"objects": [{"n": 1}], "prune": true}`, 200, "int64 true"},
		{"POST", "application/json; charset=utf-8", `{"objects": [{"n": 1}]}`, 200, "int64 false"},
		{"POST", "application/json", `{"objects": []}`, 422, "not a valid object"},
		{"POST", "application/json", `{"objects": [{"n": 1}], "prune": "yes"}`, 400, "prune: want"},
		{"POST", "application/json", `{"objects": [1]}`, 400, "objects: want"},
		{"POST", "application/json", `{"object": {}}`, 400, "object: want"},
		{"POST", "application/json", `{"objects": ["` + strings.Repeat("x", maxEdit) + `"]}`, 413, "more than 64 MiB"},
		{"POST", "application/json", `{`, 400, "unexpected"},
		{"POST", "text/plain", `{"objects": [{"n": 1}]}`, 405, "read-only"},
		{"PUT", "application/json", `{}`, 405, "read-only"},
		{"GET", "application/json", `{}`, 405, "POST the objects"},
	} {
		request, err := http.NewRequest(c.method, "http://"+addr+"/diff", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", c.kind)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != c.code || !strings.Contains(string(text), c.want) {
			t.Errorf("%s %s %.80s: %d %s, %v; want %d and %q", c.method, c.kind, c.body, response.StatusCode, text, err, c.code,
				c.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestPages(t *testing.T) {
	addr := start(t, config(t))
	for _, want := range []struct {
		path string
		code int
		body string // is in the answer
	}{
		{"/", 200, `<a href="/objects">`},
		{"/healthz", 200, "ok\n"},
		{"/readyz", 200, "ok\n"},
		{"/metrics", 200, "cardea_test_total 0"},
		{"/findings", 200, `"message": "no such class"`},
		{"/objects", 200, `"name": "gateways",` + "\n    " + `"namespaced": true,` + "\n    " + `"count": 2`},
		{"/objects/gtw/shop/web", 200, `"namespace": "shop"`},
		{"/objects/Gateway/shop/none", 404, `gateways.gateway.networking.k8s.io \"none\" not found`},
		{"/objects/gc/cardea", 200, `"name": "cardea"`},
		{"/objects/gc/shop/cardea", 404, `gatewayclasses have no namespace`},
		{"/objects/gateways.gateway.networking.k8s.io/other/api", 200, `"api"`},
		{"/objects/gateways.example.com", 404, `unknown kind \"gateways.example.com\"`},
		{"/objects/pods", 404, `unknown kind \"pods\": /objects lists the kinds`},
		{"/objects/httproutes", 200, `"items": []`},
		{"/explain?url=http://a/&method=PUT&header=x:1&header=y:2&sni=b&gateway=c/d", 200,
			`"request": "{PUT http://a/ [x:1 y:2] b c/d   \u003cnil\u003e}"`},
		{"/explain", 400, `want a whole URL`},
		{"/explain/gtw/shop/web", 200, `"object": "Gateway shop/web"`},
		{"/explain/gc/cardea", 200, `"object": "GatewayClass cardea"`},
		{"/explain/gtw/shop/none", 404, `gateways.gateway.networking.k8s.io \"none\" not found`},
		{"/explain/pods/shop/web", 404, `unknown kind \"pods\"`},
		{"/debug/flow", 200, `"Name": "input/number"`},
		{"/debug/flow/turns", 200, `"test"`},
		{"/debug/flow/input/number", 200, `"changedAt": 1`},
		{"/debug/flow/input/none", 404, "no such collection"},
		{"/debug/pprof/", 200, "goroutine"},
		{"/debug/pprof/cmdline", 404, ""},
		{"/none", 404, "no such page: / lists the pages"},
	} {
		if code, body := get(t, "GET", "http://"+addr+want.path, ""); code != want.code ||
			!strings.Contains(body, want.body) {
			t.Errorf("%s: %d, want %d and %q in:\n%s", want.path, code, want.code, want.body, body)
		}
	}
}

// uncounted has objects that can't be listed.
type uncounted struct{ objects }

func (uncounted) List(model.Kind, string) ([]json.RawMessage, error) {
	return nil, errors.New("listed to be counted")
}

func TestObjectsAreCountedWithoutListing(t *testing.T) {
	c := config(t)
	c.Objects = uncounted{c.Objects.(objects)}
	if code, body := get(t, "GET", "http://"+start(t, c)+"/objects", ""); code != 200 ||
		!strings.Contains(body, `"count": 2`) {
		t.Errorf("/objects: %d, want the counts:\n%s", code, body)
	}
}

func TestListsAreOfOneNamespaceOrAll(t *testing.T) {
	addr := start(t, config(t))
	for path, want := range map[string]int{
		"/objects/gateways":                2,
		"/objects/gateways/shop":           1,
		"/objects/gateways?namespace=shop": 1,
		"/objects/gateways/none":           0,
		"/objects/gatewayclass":            1,
	} {
		code, body := get(t, "GET", "http://"+addr+path, "")
		var list List
		if err := json.Unmarshal([]byte(body), &list); err != nil || code != 200 {
			t.Fatalf("%s: %d, %v: %s", path, code, err, body)
		}
		if list.APIVersion != "v1" || list.Kind != "List" || len(list.Items) != want {
			t.Errorf("%s: %s %s of %d items, want v1 List of %d", path, list.APIVersion, list.Kind, len(list.Items), want)
		}
	}
}

func TestPrivateKeysAreNotShown(t *testing.T) {
	addr := start(t, config(t))
	for _, path := range []string{"/objects/secrets", "/objects/secrets/shop/cert"} {
		code, body := get(t, "GET", "http://"+addr+path, "")
		if code != 200 || !strings.Contains(body, `"tls.key": "W3JlZGFjdGVkXQ=="`) {
			t.Errorf("%s: %d, want the entry's name, and [redacted] instead of its content:\n%s", path, code, body)
		}
	}
}

func TestReadyTellsWhatItWaitsFor(t *testing.T) {
	c := config(t)
	c.Ready = func() (bool, string) { return false, "waiting for the proxy of shop/web" }
	if code, body := get(t, "GET", "http://"+start(t, c)+"/readyz", ""); code != 503 ||
		body != "waiting for the proxy of shop/web\n" {
		t.Errorf("/readyz: %d %q, want 503 and the reason", code, body)
	}
}

func TestRequestsUnderAnotherNameAreRefused(t *testing.T) {
	addr := start(t, config(t))
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"":                             200,
		"localhost:" + port:            200,
		"LOCALHOST":                    200,
		"127.0.0.2:1":                  200,
		"[::1]:" + port:                200,
		"[::1]":                        200,
		"rebound.example:" + port:      403,
		"rebound.example":              403,
		"localhost.example:" + port:    403,
		"10.0.0.1:" + port:             403,
		"127.0.0.1.example.:" + port:   403,
		"localhost:80:rebound.example": 403,
	} {
		if code, body := get(t, "GET", "http://"+addr+"/objects", host); code != want {
			t.Errorf("Host %q: %d, want %d: %s", host, code, want, body)
		}
	}
}

func TestOnlyReads(t *testing.T) {
	addr := start(t, config(t))
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if code, _ := get(t, method, "http://"+addr+"/objects", ""); code != 405 {
			t.Errorf("%s: %d, want 405", method, code)
		}
	}
	if code, _ := get(t, "HEAD", "http://"+addr+"/healthz", ""); code != 200 {
		t.Errorf("HEAD: %d, want 200", code)
	}
}

func TestTakenPortIsSaidClearly(t *testing.T) {
	c := config(t)
	c.Addr = start(t, config(t))
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(context.Background())
	want := fmt.Sprintf("address %s is in use", c.Addr)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--admin") {
		t.Errorf("Run = %v, want %q and the flag's name", err, want)
	}
}

func TestEveryKindHasItsWords(t *testing.T) {
	catalog := kinds.NewCatalog()
	for _, k := range catalog.All() {
		for _, word := range append([]string{k.Plural, k.String(), k.Plural + "." + k.Group()}, k.Short...) {
			got, ok := catalog.FindByName(word)
			if shared := ok && got.Plural == k.Plural && !strings.Contains(word, "."); !ok || got != k && !shared {
				t.Errorf("Named(%q) = %s.%s, %v, want %s.%s", word, got, got.Group(), ok, k, k.Group())
			}
		}
	}
}

// TestProbes: the second address answers what a kubelet and Prometheus ask, under any name, and shows no object.
func TestProbes(t *testing.T) {
	c := config(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Probes = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, c)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/objects": 404,
		"/debug/pprof/": 404, "/": 404} {
		request, err := http.NewRequest(http.MethodGet, "http://"+c.Probes+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "10.0.0.1"
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, response.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
