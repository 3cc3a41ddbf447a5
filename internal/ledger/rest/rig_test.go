package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ledger/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server over a file. Each of its answers is checked against the document that it publishes.
type rig struct {
	t       *testing.T
	store   *store.Store
	handler http.Handler
	server  *httptest.Server
	client  *http.Client
	tokens  map[string]string // by whose they are
	unknown atomic.Int64      // requests of unknown callers
}

// newRig starts a server. root may everything, alice everything but administer, bob only read namespace shop; "east" is
// a cluster's worker.
func newRig(t *testing.T, change ...func(*rest.Config)) *rig {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := &rig{t: t, store: s, tokens: map[string]string{}}
	ctx := context.Background()
	for _, token := range []ledger.Token{{Name: "root", Subject: "root"}, {Name: "alice", Subject: "alice",
		Groups: []string{"platform"}}, {Name: "bob", Subject: "bob"}, {Name: "carol", Subject: "carol"},
		{Name: "east", Cluster: "east"}} {
		r.tokens[token.Name], token.Hash = auth.MintToken()
		r.ok(s.SetToken(ctx, token, "test"))
	}
	for _, g := range []ledger.Grant{
		{Name: "root", Subjects: []string{"root"}, Permissions: ledger.Permissions},
		{Name: "platform", Subjects: []string{"group:platform"}, Permissions: []ledger.Permission{ledger.MayRead,
			ledger.MayWrite, ledger.MayDelete, ledger.MayRollback, ledger.MayHold}},
		{Name: "bob", Subjects: []string{"bob"}, Permissions: []ledger.Permission{ledger.MayRead},
			Namespaces: []string{"shop"}},
	} {
		r.ok(s.SetGrant(ctx, g, "test"))
	}
	groups := auth.GroupsOf(kinds.NewCatalog())
	c := rest.Config{Ledger: s, Callers: auth.New(auth.Config{Access: s, Groups: groups}), Version: "test",
		Groups: groups, Unknown: func() { r.unknown.Add(1) }}
	for _, f := range change {
		f(&c)
	}
	h, err := rest.New(c)
	r.ok(err)
	r.handler, r.server = h, httptest.NewServer(h)
	t.Cleanup(r.server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r.client = &http.Client{Transport: &checkObjectJSON{errorf: t.Errorf, next: transport, router: publishDocument(t,
		r.server.URL)}}
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// publishDocument is the document that a server publishes.
func publishDocument(t *testing.T, url string) routers.Router {
	t.Helper()
	answer, err := http.Get(url + rest.Prefix + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc) // which validates the document
	if err != nil {
		t.Fatal(err)
	}
	return router
}

// checkObjectJSON checks each answer against the document.
type checkObjectJSON struct {
	errorf func(format string, args ...any)
	next   http.RoundTripper
	router routers.Router
}

func (c *checkObjectJSON) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	route, params, err := c.router.FindRoute(q)
	if err != nil { // no path of the document: a problem
		if kind := answer.Header.Get("Content-Type"); kind != wire.ProblemType {
			c.errorf("%s %s: %d has media type %q", q.Method, q.URL.Path, answer.StatusCode, kind)
		}
		return answer, nil
	}
	in := &openapi3filter.ResponseValidationInput{Status: answer.StatusCode, Header: answer.Header,
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: q, PathParams: params, Route: route},
		Options:                &openapi3filter.Options{IncludeResponseStatus: true}}
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		in.Options.ExcludeResponseBody = true // it does not end
	} else {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		answer.Body.Close()
		answer.Body = io.NopCloser(bytes.NewReader(text))
		in.SetBodyBytes(text)
	}
	if err := openapi3filter.ValidateResponse(q.Context(), in); err != nil {
		c.errorf("%s %s: the answer %d is not as the document says: %v", q.Method, q.URL.Path, answer.StatusCode, err)
	}
	return answer, nil
}

// call is a request.
type call struct {
	who, method, path string // path below the prefix
	header            map[string]string
	body              any // a string is sent as it is
}

// answer is what came back.
type answer struct {
	*http.Response
	t    *testing.T
	body []byte
}

// do makes a request.
func (r *rig) do(c call) answer {
	r.t.Helper()
	var body io.Reader
	switch b := c.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		r.ok(err)
		body = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(r.t.Context(), c.method, r.server.URL+rest.Prefix+c.path, body)
	r.ok(err)
	if c.who != "" {
		q.Header.Set("Authorization", "Bearer "+r.tokens[c.who])
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		q.Header.Set(name, value)
	}
	a, err := r.client.Do(q)
	r.ok(err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	r.ok(err)
	return answer{a, r.t, text}
}

// is wants a status, and decodes the body into out unless that is nil.
func (a answer) is(status int, out any) answer {
	a.t.Helper()
	if a.StatusCode != status {
		a.t.Fatalf("%s %s = %d %s, want %d", a.Request.Method, a.Request.URL.Path, a.StatusCode, a.body, status)
	}
	if out != nil {
		if err := json.Unmarshal(a.body, out); err != nil {
			a.t.Fatalf("%s: %v", a.body, err)
		}
	}
	return a
}

// problem wants a problem of a status and a code.
func (a answer) problem(status int, code ledger.Code) wire.Problem {
	a.t.Helper()
	var p wire.Problem
	a.is(status, &p)
	if kind := a.Header.Get("Content-Type"); kind != wire.ProblemType || p.Code != code || p.Status != status ||
		p.Detail == "" {
		a.t.Fatalf("the problem is %s (%s), want code %s", a.body, kind, code)
	}
	return p
}

const route = "HTTPRoute.gateway.networking.k8s.io"

func path(name string) string { return "/targets/default/objects/" + route + "/shop/" + name }

// web is an HTTPRoute of namespace shop.
func web(name, host string) string {
	return fmt.Sprintf(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": {"name": %q, "namespace": "shop"}, "spec": {"hostnames": [%q]}}`, name, host)
}

// create makes an HTTPRoute as alice.
func (r *rig) create(name, host string) ledger.Change {
	r.t.Helper()
	var c ledger.Change
	r.do(call{who: "alice", method: "PUT", path: path(name), body: web(name, host),
		header: map[string]string{"If-None-Match": "*"}}).is(201, &c)
	return c
}

func ifMatch(tag string) map[string]string { return map[string]string{"If-Match": tag} }
