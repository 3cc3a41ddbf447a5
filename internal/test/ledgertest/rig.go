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

// waitTimeout is how long a test waits for what must come.
const waitTimeout = 30 * time.Second

// rig is a ledger under test.
type rig struct {
	ledger.Ledger
	t   *testing.T
	ctx context.Context
}

func routeKey(name string) ledger.Key {
	return ledger.Key{Target: ledger.DefaultTarget, Group: "gateway.networking.k8s.io", Kind: "HTTPRoute",
		Namespace: "shop", Name: name}
}

func secretKey(name string) ledger.Key {
	return ledger.Key{Target: ledger.DefaultTarget, Kind: "Secret", Namespace: "shop", Name: name}
}

// makeContent is an object's content, one for each version.
func makeContent(k ledger.Key, version string) ledger.Content {
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

func putEdit(k ledger.Key, version string) ledger.Edit {
	return ledger.Edit{Key: k, Content: makeContent(k, version)}
}

func expectGeneration(e ledger.Edit, generation int64) ledger.Edit {
	e.Expect = &generation
	return e
}

func deleteEdit(k ledger.Key) ledger.Edit { return ledger.Edit{Key: k, Delete: true} }

func revisionEdit(k ledger.Key, n int64) ledger.Edit { return ledger.Edit{Key: k, Revision: n} }

func newDraft(edits ...ledger.Edit) ledger.Draft {
	return ledger.Draft{Edits: edits, Author: "alice", Via: "test", Message: "because"}
}

// mustCommit commits edits.
func (r rig) mustCommit(edits ...ledger.Edit) ledger.Change {
	r.t.Helper()
	return r.mustDraft(newDraft(edits...))
}

func (r rig) mustDraft(d ledger.Draft) ledger.Change {
	r.t.Helper()
	c, err := r.Commit(r.ctx, d)
	if err != nil {
		r.t.Fatalf("Commit: %v", err)
	}
	return c
}

// wantRefusal wants a draft to be refused with a code, and nothing to be written.
func (r rig) wantRefusal(code ledger.Code, d ledger.Draft) *ledger.Error {
	r.t.Helper()
	before := r.mustHead()
	c, err := r.Commit(r.ctx, d)
	if ledger.CodeOf(err) != code {
		r.t.Fatalf("Commit = change %d, %v, want %s", c.Number, err, code)
	}
	if after := r.mustHead(); after.Change != before.Change {
		r.t.Fatalf("a refused draft moved the head from %d to %d", before.Change, after.Change)
	}
	var e *ledger.Error
	errors.As(err, &e)
	return e
}

func (r rig) mustHead() ledger.Head {
	r.t.Helper()
	h, err := r.Head(r.ctx)
	r.wantNoError(err)
	return h
}

func (r rig) mustObject(k ledger.Key, at int64) ledger.Object {
	r.t.Helper()
	o, err := r.Object(r.ctx, k, at)
	r.wantNoError(err)
	return o
}

// wantObject wants an object to have a generation, a revision and, unless version is "", a content.
func (r rig) wantObject(k ledger.Key, generation, revision int64, version string) ledger.Object {
	r.t.Helper()
	return r.wantObjectAt(k, 0, generation, revision, version)
}

func (r rig) wantObjectAt(k ledger.Key, at, generation, revision int64, version string) ledger.Object {
	r.t.Helper()
	o := r.mustObject(k, at)
	if o.Generation != generation || o.Revision != revision {
		r.t.Fatalf("%s at change %d has generation %d, revision %d, want %d, %d", k, at, o.Generation, o.Revision,
			generation, revision)
	}
	if want := makeContent(k, version); version != "" && !sameJSON(o.Content, want) {
		r.t.Fatalf("%s at change %d is %s, want %s", k, at, o.Content, want)
	}
	return o
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

func (r rig) wantNoError(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// wantCode wants an error of a code.
func (r rig) wantCode(err error, code ledger.Code) *ledger.Error {
	r.t.Helper()
	if ledger.CodeOf(err) != code {
		r.t.Fatalf("the error is %v, want %s", err, code)
	}
	var e *ledger.Error
	errors.As(err, &e)
	return e
}

// collectChanges collects changes after a number, until there are n.
func (r rig) collectChanges(from int64, n int) (list []ledger.Change) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, waitTimeout)
	defer cancel()
	for c, err := range r.Watch(ctx, from) {
		r.wantNoError(err)
		if list = append(list, c); len(list) == n {
			return list
		}
	}
	r.t.Fatalf("the watch from %d ended after %d changes, want %d", from, len(list), n)
	return nil
}

// addClusters makes a target with clusters.
func (r rig) addClusters(target string, names ...string) {
	r.t.Helper()
	r.wantNoError(r.SetTarget(r.ctx, ledger.Target{Name: target, Server: ledger.Clusters}, "alice"))
	for _, name := range names {
		r.wantNoError(r.SetCluster(r.ctx, ledger.Cluster{Name: name}, "alice"))
	}
}

// keyIn is the key of an object of a target.
func keyIn(target, kind, name string) ledger.Key {
	return ledger.Key{Target: target, Kind: kind, Namespace: "shop", Name: name}
}

func (r rig) claimDue(cluster string) []ledger.Claim {
	r.t.Helper()
	return r.mustClaim(ledger.ClaimQuery{Cluster: cluster, Worker: "w1", Lease: time.Minute})
}

func (r rig) mustClaim(q ledger.ClaimQuery) []ledger.Claim {
	r.t.Helper()
	list, err := r.Claim(r.ctx, q)
	r.wantNoError(err)
	return list
}

// claimOne claims one object, which must be the only one that is due.
func (r rig) claimOne(cluster string) ledger.Claim {
	r.t.Helper()
	list := r.claimDue(cluster)
	if len(list) != 1 {
		r.t.Fatalf("%d objects are due in %s, want 1", len(list), cluster)
	}
	return list[0]
}

// appliedResult is what a worker records that applied a claim.
func appliedResult(c ledger.Claim) ledger.Result {
	return ledger.Result{Object: c.ID, Cluster: c.Cluster, Lease: c.Lease, Generation: c.Generation, Revision: c.Revision,
		UID: "uid-" + c.ID, Result: c.Hash, Gone: c.IsDeleted()}
}

func (r rig) recordApplied(c ledger.Claim) {
	r.t.Helper()
	if ok, err := r.Record(r.ctx, appliedResult(c)); err != nil || !ok {
		r.t.Fatalf("Record(%s) = %v, %v", c.Key, ok, err)
	}
}

func (r rig) recordFailure(c ledger.Claim, permanent bool) {
	r.t.Helper()
	ok, err := r.Fail(r.ctx, ledger.Failure{Object: c.ID, Cluster: c.Cluster, Lease: c.Lease, Generation: c.Generation,
		Code: "Forbidden", Message: "may not", Permanent: permanent})
	if err != nil || !ok {
		r.t.Fatalf("Fail(%s) = %v, %v", c.Key, ok, err)
	}
}

// clusterStatus is the status of an object in a cluster.
func (r rig) clusterStatus(k ledger.Key, cluster string) ledger.InCluster {
	r.t.Helper()
	for _, c := range r.mustStatus(k).Clusters {
		if c.Cluster == cluster {
			return c
		}
	}
	r.t.Fatalf("%s has no status in %s", k, cluster)
	return ledger.InCluster{}
}

func (r rig) mustStatus(k ledger.Key) ledger.Status {
	r.t.Helper()
	list, err := r.Status(r.ctx, ledger.StatusQuery{Keys: []ledger.Key{k}})
	r.wantNoError(err)
	if len(list) != 1 {
		r.t.Fatalf("%s has %d statuses", k, len(list))
	}
	return list[0]
}

// waitUntil waits for a condition.
func (r rig) waitUntil(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(waitTimeout); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not after %s: %s", waitTimeout, what)
		}
	}
}
