package compat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/compat"
	"cardea.dev/cardea/internal/ledger/store"
)

// rig is Kontrol's routes over a file. Target "prod" is served by clusters c1 and c2.
type rig struct {
	t      *testing.T
	store  *store.Store
	url    string
	tokens map[string]string

	handler http.Handler
}

func newRig(t *testing.T, change ...func(*compat.Config)) *rig {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := &rig{t: t, store: s, tokens: map[string]string{}}
	r.ok(s.SetTarget(t.Context(), ledger.Target{Name: "prod", Server: ledger.Clusters}, "test"))
	for _, name := range []string{"c1", "c2"} {
		r.ok(s.SetCluster(t.Context(), ledger.Cluster{Name: name}, "test"))
	}
	for _, token := range []ledger.Token{{Name: "alice", Subject: "alice"}, {Name: "bob", Subject: "bob"},
		{Name: "c1", Cluster: "c1"}} {
		r.tokens[token.Name], token.Hash = auth.MintToken()
		r.ok(s.SetToken(t.Context(), token, "test"))
	}
	r.ok(s.SetGrant(t.Context(), ledger.Grant{Name: "a", Subjects: []string{"alice"},
		Permissions: []ledger.Permission{"*"}}, "test"))
	c := compat.Config{Ledger: s, Callers: auth.New(auth.Config{Access: s})}
	for _, f := range change {
		f(&c)
	}
	r.handler = compat.New(c)
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// writeAnswer is what clients of Kontrol read.
type writeAnswer struct {
	ID           string
	ClusterID    string `json:"cluster_id"`
	Kind         string
	Namespace    string
	Name         string
	APIVersion   string          `json:"api_version"`
	DesiredSpec  json.RawMessage `json:"desired_spec"`
	Generation   int64
	Revision     int64
	Status       string
	Applied      *int64 `json:"applied_generation"`
	Current      *int64 `json:"current_generation"`
	ErrorMessage string `json:"error_message"`
	Synced       int    `json:"clusters_synced"`
	Total        int    `json:"clusters_total"`
	Message      string
	Error        string
}

// do makes a request, wants a status and decodes the answer.
func (r *rig) do(who, method, path, body string, status int) (a writeAnswer) {
	r.t.Helper()
	r.ok(json.Unmarshal(r.raw(who, method, path, body, status), &a))
	if (a.Error == "") != (status < 400) {
		r.t.Fatalf("%s %s = %d with error %q", method, path, status, a.Error)
	}
	return a
}

func (r *rig) raw(who, method, path, body string, status int) []byte {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader([]byte(body)))
	r.ok(err)
	if who != "" {
		q.Header.Set("Authorization", "Bearer "+r.tokens[who])
	}
	a, err := http.DefaultClient.Do(q)
	r.ok(err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	r.ok(err)
	if a.StatusCode != status {
		r.t.Fatalf("%s %s = %d %s, want %d", method, path, a.StatusCode, text, status)
	}
	return text
}

const resources = "/api/v1/resources"

// create makes Deployment default/nginx of target prod.
func (r *rig) create() writeAnswer {
	r.t.Helper()
	return r.do("alice", "POST", resources, `{"cluster_id": "prod", "namespace": "default", "kind": "Deployment",
		"name": "nginx", "api_version": "apps/v1", "desired_spec": {"apiVersion": "apps/v1", "kind": "Deployment",
		"spec": {"replicas": 3}}}`, 201)
}

func (r *rig) update(id string, replicas int) writeAnswer {
	r.t.Helper()
	body := fmt.Sprintf(`{"desired_spec": {"spec": {"replicas": %d}}}`, replicas)
	return r.do("alice", "PUT", resources+"/"+id, body, 200)
}

func (r *rig) get(id string) writeAnswer {
	r.t.Helper()
	return r.do("alice", "GET", resources+"/"+id, "", 200)
}

// is wants a generation and a revision.
func (r *rig) is(a writeAnswer, generation, revision int64) writeAnswer {
	r.t.Helper()
	if a.Generation != generation || a.Revision != revision {
		r.t.Fatalf("it has generation %d, revision %d, want %d, %d", a.Generation, a.Revision, generation, revision)
	}
	return a
}

// work has a cluster's worker apply what is due, or fail with a message, and the watcher see it.
func (r *rig) work(cluster, failure string) {
	r.t.Helper()
	claims, err := r.store.Claim(r.t.Context(), ledger.ClaimQuery{Cluster: cluster, Worker: "w"})
	r.ok(err)
	if len(claims) != 1 {
		r.t.Fatalf("%d are due in %s", len(claims), cluster)
	}
	c := claims[0]
	if failure != "" {
		_, err := r.store.Fail(r.t.Context(), ledger.Failure{Object: c.ID, Cluster: cluster, Lease: c.Lease,
			Generation: c.Generation, Code: "Invalid", Message: failure})
		r.ok(err)
		return
	}
	_, err = r.store.Record(r.t.Context(), ledger.Result{Object: c.ID, Cluster: cluster, Lease: c.Lease,
		Generation: c.Generation, Revision: c.Revision, UID: "u", Gone: c.IsDeleted()})
	r.ok(err)
	if !c.IsDeleted() {
		r.observe(c.ID, cluster, ledger.Observation{UID: "u", Generation: c.Generation})
	}
}

func (r *rig) observe(id, cluster string, o ledger.Observation) {
	r.t.Helper()
	o.Object = id
	r.ok(r.store.Observe(r.t.Context(), cluster, []ledger.Observation{o}))
}

// TestFlows creates, edits, deletes and restores a resource as Kontrol's clients do, and checks generations and
// revisions.
func TestFlows(t *testing.T) {
	r := newRig(t)
	a := r.is(r.create(), 1, 1)
	if a.ID == "" || a.ClusterID != "prod" || a.Kind != "Deployment" || a.Name != "nginx" || a.Namespace != "default" {
		t.Fatalf("%+v", a)
	}
	got := r.get(a.ID)
	if got.Status != "out-of-sync" || got.APIVersion != "apps/v1" || *got.Applied != 0 || got.Total != 2 ||
		!strings.Contains(string(got.DesiredSpec), `"replicas":3`) {
		t.Fatalf("%+v %s", got, got.DesiredSpec)
	}
	r.work("c1", "")
	if got := r.get(a.ID); got.Status != "out-of-sync" || got.Synced != 1 || *got.Applied != 0 {
		t.Fatalf("one of two clusters has it: %+v", got)
	}
	r.work("c2", "")
	if got := r.get(a.ID); got.Status != "synced" || got.Synced != 2 || *got.Applied != 1 || *got.Current != 1 {
		t.Fatalf("%+v", got)
	}
	r.is(r.update(a.ID, 5), 2, 2)
	back := r.is(r.do("alice", "PUT", resources+"/"+a.ID, `{"revision": 1}`, 200), 3, 1)
	if back.Status != "pending" || len(back.DesiredSpec) != 0 {
		t.Fatalf("%+v", back)
	}
	if got := r.get(a.ID); !strings.Contains(string(got.DesiredSpec), `"replicas":3`) {
		t.Fatalf("%s", got.DesiredSpec)
	}
	gone := r.do("alice", "DELETE", resources+"/"+a.ID, "", 202)
	if gone.Status != "deleting" || gone.Generation != 4 {
		t.Fatalf("%+v", gone)
	}
	if got := r.get(a.ID); got.Status != "deleting" {
		t.Fatalf("%+v", got)
	}
	r.work("c1", "")
	r.work("c2", "")
	r.do("alice", "GET", resources+"/"+a.ID, "", 404)
}

func TestListOfATarget(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.do("alice", "POST", resources, `{"kind": "Service", "api_version": "v1", "namespace": "x", "name": "s",
		"desired_spec": {"type": "ClusterIP"}}`, 201) // of the default target; desired_spec is the spec alone
	for query, want := range map[string]int{"": 2, "?cluster_id=prod": 1, "?cluster_id=default": 1,
		"?cluster_id=none": 0} {
		var list struct {
			Resources []writeAnswer
			Total     int
		}
		r.ok(json.Unmarshal(r.raw("alice", "GET", resources+query, "", 200), &list))
		if list.Total != want || len(list.Resources) != want {
			t.Errorf("%q: %+v, want %d", query, list, want)
		}
		if query == "?cluster_id=prod" && list.Resources[0].ID != a.ID {
			t.Errorf("%+v", list)
		}
	}
	if text := r.raw("bob", "GET", resources, "", 200); !strings.Contains(string(text), `"total":0`) {
		t.Errorf("%s", text)
	}
}

func TestHealthNeedsNoToken(t *testing.T) {
	r := newRig(t)
	if text := r.raw("", "GET", "/health", "", 200); !strings.Contains(string(text), `"healthy"`) {
		t.Fatalf("%s", text)
	}
	r.ok(r.store.Close())
	r.do("", "GET", "/health", "", 503)
}

func TestBadRequests(t *testing.T) {
	r := newRig(t)
	a := r.create()
	for body, status := range map[string]int{
		``: 400, `{`: 400, `[]`: 400, `{}`: 400, `{"unknown": 1}`: 400, `{"desired_spec": {}} {}`: 400,
		`{"kind": "A", "name": "a", "api_version": "v1", "desired_spec": []}`:                             400,
		`{"kind": "A", "name": "a", "desired_spec": {"spec": {}}}`:                                        400,
		`{"kind": "A", "name": "a", "api_version": "v1", "revision": 2, "desired_spec": {}}`:              400,
		`{"kind": "A", "name": "a", "api_version": "v1", "desired_spec": {"kind": "B"}}`:                  400,
		`{"cluster_id": "none", "kind": "A", "name": "a", "api_version": "v1", "desired_spec": {"a": 1}}`: 404,
		`{"cluster_id": "prod", "kind": "Deployment", "api_version": "apps/v1", "namespace": "default", "name": "nginx",
			"desired_spec": {"replicas": 1}}`: 409,
	} {
		r.do("alice", "POST", resources, body, status)
	}
	for body, status := range map[string]int{`{}`: 400, `{"revision": 9}`: 404, `{"revision": -1}`: 400,
		`{"revision": 1, "desired_spec": {"spec": {}}}`: 400, `{"desired_spec": {"metadata": {"name": "other"}}}`: 400} {
		r.do("alice", "PUT", resources+"/"+a.ID, body, status)
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		r.do("alice", method, resources+"/none", `{"revision": 1}`, 404)
		r.do("", method, resources+"/"+a.ID, `{"revision": 1}`, 401)
		r.do("bob", method, resources+"/"+a.ID, `{"revision": 1}`, 403)
	}
	list, err := r.store.Denials(t.Context(), ledger.Page{})
	r.ok(err)
	if len(list) != 3 || list[0].Subject != "bob" {
		t.Fatalf("%+v", list)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	r := newRig(t)
	a := r.do("alice", "POST", resources, `{"kind": "Secret", "api_version": "v1", "namespace": "x", "name": "s",
		"desired_spec": {"apiVersion": "v1", "kind": "Secret", "stringData": {"p": "hunter2"}}}`, 201)
	for _, path := range []string{resources, resources + "/" + a.ID} {
		if text := r.raw("alice", "GET", path, "", 200); strings.Contains(string(text), "hunter2") {
			t.Errorf("%s", text)
		}
	}
}
