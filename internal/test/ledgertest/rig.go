package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// rig is a ledger under test.
type rig struct {
	ledger.Ledger
	t   *testing.T
	ctx context.Context
}

func key(name string) ledger.Key {
	return ledger.Key{Target: ledger.DefaultTarget, Group: "gateway.networking.k8s.io", Kind: "HTTPRoute",
		Namespace: "shop", Name: name}
}

func secretKey(name string) ledger.Key {
	return ledger.Key{Target: ledger.DefaultTarget, Kind: "Secret", Namespace: "shop", Name: name}
}

// content is an object's content, one for each version.
func content(k ledger.Key, version string) ledger.Content {
	object := map[string]any{"apiVersion": "v1", "kind": k.Kind, "metadata": map[string]any{"name": k.Name}}
	if k.Namespace != "" {
		object["metadata"].(map[string]any)["namespace"] = k.Namespace
	}
	if k.Group != "" {
		object["apiVersion"] = k.Group + "/v1"
	}
	switch k.Kind {
	case "HTTPRoute":
		object["spec"] = map[string]any{"hostnames": []any{version + ".example"}}
	case "Secret":
		object["stringData"] = map[string]any{"password": "hunter-" + version}
	default:
		object["data"] = map[string]any{"version": version}
	}
	_, c, err := ledger.ContentOf(k.Target, object)
	if err != nil {
		panic(err)
	}
	return c
}

func put(k ledger.Key, version string) ledger.Edit {
	return ledger.Edit{Key: k, Content: content(k, version)}
}

func expecting(e ledger.Edit, generation int64) ledger.Edit {
	e.Expect = &generation
	return e
}

func remove(k ledger.Key) ledger.Edit { return ledger.Edit{Key: k, Delete: true} }

func toRevision(k ledger.Key, n int64) ledger.Edit { return ledger.Edit{Key: k, Revision: n} }

func draft(edits ...ledger.Edit) ledger.Draft {
	return ledger.Draft{Edits: edits, Author: "alice", Via: "test", Message: "because"}
}

// must commits edits.
func (r rig) must(edits ...ledger.Edit) ledger.Change {
	r.t.Helper()
	return r.mustDraft(draft(edits...))
}

func (r rig) mustDraft(d ledger.Draft) ledger.Change {
	r.t.Helper()
	c, err := r.Commit(r.ctx, d)
	if err != nil {
		r.t.Fatalf("Commit: %v", err)
	}
	return c
}

// refused wants a draft to be refused with a code, and nothing to be written.
func (r rig) refused(code ledger.Code, d ledger.Draft) *ledger.Error {
	r.t.Helper()
	before := r.head()
	c, err := r.Commit(r.ctx, d)
	if ledger.CodeOf(err) != code {
		r.t.Fatalf("Commit = change %d, %v, want %s", c.Number, err, code)
	}
	if after := r.head(); after.Change != before.Change {
		r.t.Fatalf("a refused draft moved the head from %d to %d", before.Change, after.Change)
	}
	var e *ledger.Error
	errors.As(err, &e)
	return e
}

func (r rig) head() ledger.Head {
	r.t.Helper()
	h, err := r.Head(r.ctx)
	r.ok(err)
	return h
}

func (r rig) object(k ledger.Key, at int64) ledger.Object {
	r.t.Helper()
	o, err := r.Object(r.ctx, k, at)
	r.ok(err)
	return o
}

// is wants an object to have a generation, a revision and, unless version is "", a content.
func (r rig) is(k ledger.Key, generation, revision int64, version string) ledger.Object {
	r.t.Helper()
	return r.was(k, 0, generation, revision, version)
}

func (r rig) was(k ledger.Key, at, generation, revision int64, version string) ledger.Object {
	r.t.Helper()
	o := r.object(k, at)
	if o.Generation != generation || o.Revision != revision {
		r.t.Fatalf("%s at change %d has generation %d, revision %d, want %d, %d", k, at, o.Generation, o.Revision,
			generation, revision)
	}
	if want := content(k, version); version != "" && !sameJSON(o.Content, want) {
		r.t.Fatalf("%s at change %d is %s, want %s", k, at, o.Content, want)
	}
	return o
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

func (r rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// code wants an error of a code.
func (r rig) code(err error, code ledger.Code) *ledger.Error {
	r.t.Helper()
	if ledger.CodeOf(err) != code {
		r.t.Fatalf("the error is %v, want %s", err, code)
	}
	var e *ledger.Error
	errors.As(err, &e)
	return e
}

// watch collects changes after a number, until there are n.
func (r rig) watch(from int64, n int) (list []ledger.Change) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	for c, err := range r.Watch(ctx, from) {
		r.ok(err)
		if list = append(list, c); len(list) == n {
			return list
		}
	}
	r.t.Fatalf("the watch from %d ended after %d changes, want %d", from, len(list), n)
	return nil
}

// cluster makes a target with clusters.
func (r rig) clusters(target string, names ...string) {
	r.t.Helper()
	r.ok(r.SetTarget(r.ctx, ledger.Target{Name: target, Server: ledger.Clusters}, "alice"))
	for _, name := range names {
		r.ok(r.SetCluster(r.ctx, ledger.Cluster{Name: name}, "alice"))
	}
}

// in is the key of an object of a target.
func in(target, kind, name string) ledger.Key {
	return ledger.Key{Target: target, Kind: kind, Namespace: "shop", Name: name}
}

func (r rig) claim(cluster string) []ledger.Claim {
	r.t.Helper()
	return r.claimed(ledger.ClaimQuery{Cluster: cluster, Worker: "w1", Lease: time.Minute})
}

func (r rig) claimed(q ledger.ClaimQuery) []ledger.Claim {
	r.t.Helper()
	list, err := r.Claim(r.ctx, q)
	r.ok(err)
	return list
}

// one claims one object, which must be the only one that is due.
func (r rig) one(cluster string) ledger.Claim {
	r.t.Helper()
	list := r.claim(cluster)
	if len(list) != 1 {
		r.t.Fatalf("%d objects are due in %s, want 1", len(list), cluster)
	}
	return list[0]
}

// applied is what a worker records that applied a claim.
func applied(c ledger.Claim) ledger.Result {
	return ledger.Result{Object: c.ID, Cluster: c.Cluster, Lease: c.Lease, Generation: c.Generation, Revision: c.Revision,
		UID: "uid-" + c.ID, Result: c.Hash, Gone: c.IsDeleted()}
}

func (r rig) record(c ledger.Claim) {
	r.t.Helper()
	if ok, err := r.Record(r.ctx, applied(c)); err != nil || !ok {
		r.t.Fatalf("Record(%s) = %v, %v", c.Key, ok, err)
	}
}

func (r rig) fail(c ledger.Claim, permanent bool) {
	r.t.Helper()
	ok, err := r.Fail(r.ctx, ledger.Failure{Object: c.ID, Cluster: c.Cluster, Lease: c.Lease, Generation: c.Generation,
		Code: "Forbidden", Message: "may not", Permanent: permanent})
	if err != nil || !ok {
		r.t.Fatalf("Fail(%s) = %v, %v", c.Key, ok, err)
	}
}

// inCluster is the status of an object in a cluster.
func (r rig) inCluster(k ledger.Key, cluster string) ledger.InCluster {
	r.t.Helper()
	for _, c := range r.status(k).Clusters {
		if c.Cluster == cluster {
			return c
		}
	}
	r.t.Fatalf("%s has no status in %s", k, cluster)
	return ledger.InCluster{}
}

func (r rig) status(k ledger.Key) ledger.Status {
	r.t.Helper()
	list, err := r.Status(r.ctx, ledger.StatusQuery{Keys: []ledger.Key{k}})
	r.ok(err)
	if len(list) != 1 {
		r.t.Fatalf("%s has %d statuses", k, len(list))
	}
	return list[0]
}

// until waits for a condition.
func (r rig) until(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not after %s: %s", patience, what)
		}
	}
}
