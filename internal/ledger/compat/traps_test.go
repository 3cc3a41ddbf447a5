package compat_test

import (
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// The tests of this file are where the original breaks what its documents promise.

func TestTrapRollbackWithoutASpecWorks(t *testing.T) {
	r := newRig(t)
	a := r.create()
	for i := range 3 {
		r.update(a.ID, 10+i)
	}
	r.is(r.do("alice", "PUT", resources+"/"+a.ID, `{"revision": 2}`, 200), 5, 2)
	if got := r.get(a.ID); !strings.Contains(string(got.DesiredSpec), `"replicas":10`) {
		t.Fatalf("%s", got.DesiredSpec)
	}
}

func TestTrapRevisionNeverHasTwoContents(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.is(r.update(a.ID, 2), 2, 2)
	r.is(r.update(a.ID, 30), 3, 3)
	r.is(r.do("alice", "PUT", resources+"/"+a.ID, `{"revision": 2}`, 200), 4, 2)
	r.is(r.update(a.ID, 4), 5, 5) // and not 3 again
	r.is(r.do("alice", "PUT", resources+"/"+a.ID, `{"revision": 3}`, 200), 6, 3)
	if got := r.get(a.ID); !strings.Contains(string(got.DesiredSpec), `"replicas":30`) {
		t.Fatalf("revision 3 is %s", got.DesiredSpec)
	}
	// Nor can a client choose the number.
	r.do("alice", "PUT", resources+"/"+a.ID, `{"desired_spec": {"spec": {"replicas": 9}}, "revision": 3}`, 400)
}

func TestTrapHandEditAndDeletionByHandShow(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.work("c1", "")
	r.work("c2", "")
	r.observe(a.ID, "c1", ledger.Observation{UID: "u", Generation: 1, Drift: "spec.replicas is 1", By: "kubectl-edit",
		Correct: true})
	if got := r.get(a.ID); got.Status != "out-of-sync" || got.Synced != 1 {
		t.Fatalf("generations are equal, but it was edited by hand: %+v", got)
	}
	r.work("c1", "")
	if got := r.get(a.ID); got.Status != "synced" {
		t.Fatalf("%+v", got)
	}
	r.observe(a.ID, "c1", ledger.Observation{Gone: true, Correct: true})
	if got := r.get(a.ID); got.Status == "synced" {
		t.Fatalf("it is gone from a cluster: %+v", got)
	}
	r.work("c1", "") // it is made again
}

func TestTrapRemovedAnnotationsHideNothing(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.work("c1", "")
	r.work("c2", "")
	r.observe(a.ID, "c1", ledger.Observation{UID: "u", Drift: "annotations were removed", Correct: true})
	if got := r.get(a.ID); got.Status == "synced" || *got.Current != 0 {
		t.Fatalf("%+v", got)
	}
	r.work("c1", "")
	if got := r.get(a.ID); got.Status != "synced" {
		t.Fatalf("%+v", got)
	}
}

func TestTrapErrorLeavesTheAppliedGeneration(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.work("c1", "")
	r.work("c2", "")
	r.update(a.ID, 5)
	r.work("c1", "replicas: too many")
	r.work("c2", "")
	got := r.get(a.ID)
	if got.Status != "error" || got.ErrorMessage != "replicas: too many" || *got.Applied != 1 || got.Generation != 2 {
		t.Fatalf("%+v", got)
	}
}

func TestTrapDeleteThenCreateIsOneResource(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.work("c1", "")
	r.work("c2", "")
	r.do("alice", "DELETE", resources+"/"+a.ID, "", 202)
	b := r.is(r.create(), 3, 1) // the same content as revision 1
	if b.ID != a.ID {
		t.Fatalf("two resources have one place: %s and %s", a.ID, b.ID)
	}
	claims, err := r.store.Claim(t.Context(), ledger.ClaimQuery{Cluster: "c1", Worker: "w"})
	r.ok(err)
	if len(claims) != 1 || claims[0].IsDeleted() || claims[0].Generation != 3 {
		t.Fatalf("the old deletion would take the new object away: %+v", claims)
	}
}

func TestTrapDeletionWaitsForTheClustersAndHistoryStays(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.work("c1", "")
	r.work("c2", "")
	r.do("alice", "DELETE", resources+"/"+a.ID, "", 202)
	r.work("c1", "")
	if got := r.get(a.ID); got.Status != "deleting" {
		t.Fatalf("a finalizer still holds it in c2: %+v", got)
	}
	r.work("c2", "")
	r.do("alice", "GET", resources+"/"+a.ID, "", 404)
	r.do("alice", "PUT", resources+"/"+a.ID, `{"revision": 1}`, 404)
	key := ledger.Key{Target: "prod", Group: "apps", Kind: "Deployment", Namespace: "default", Name: "nginx"}
	history, err := r.store.History(t.Context(), key, ledger.Page{})
	r.ok(err)
	if len(history) != 2 {
		t.Fatalf("%+v", history)
	}
}

func TestTrapClusterTokenWritesNoResources(t *testing.T) {
	r := newRig(t)
	a := r.create()
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		r.do("c1", method, resources+"/"+a.ID, `{"revision": 1}`, 403)
	}
	r.do("c1", "POST", resources, `{"kind": "A", "name": "a", "api_version": "v1", "desired_spec": {"a": 1}}`, 403)
	if text := r.raw("c1", "GET", resources, "", 200); !strings.Contains(string(text), `"total":0`) {
		t.Fatalf("%s", text)
	}
}

func TestTrapGlobalResourceIsUpdatedEverywhere(t *testing.T) {
	r := newRig(t)
	a := r.create()
	for _, replicas := range []int{0, 7, 8} {
		if replicas > 0 {
			r.update(a.ID, replicas)
		}
		r.work("c1", "")
		r.work("c2", "")
		if got := r.get(a.ID); got.Status != "synced" || got.Synced != 2 || got.Total != 2 {
			t.Fatalf("%+v", got)
		}
	}
	r.ok(r.store.SetCluster(t.Context(), ledger.Cluster{Name: "c3"}, "test"))
	if got := r.get(a.ID); got.Synced != 2 || got.Total != 3 || got.Status != "out-of-sync" {
		t.Fatalf("%+v", got)
	}
	r.work("c3", "")
}

func TestTrapAnyKindIsTaken(t *testing.T) {
	r := newRig(t)
	a := r.do("alice", "POST", resources, `{"cluster_id": "prod", "desired_spec": {"kind": "Gateway",
		"apiVersion": "gateway.networking.k8s.io/v1", "metadata": {"name": "gw", "namespace": "infra",
		"labels": {"a": "b"}}, "spec": {"gatewayClassName": "cardea"}}}`, 201)
	got := r.get(a.ID)
	if got.Kind != "Gateway" || got.APIVersion != "gateway.networking.k8s.io/v1" || got.Name != "gw" {
		t.Fatalf("%+v", got)
	}
	// An update of the spec alone keeps the labels.
	r.do("alice", "PUT", resources+"/"+a.ID, `{"desired_spec": {"spec": {"gatewayClassName": "other"}}}`, 200)
	if got := r.get(a.ID); !strings.Contains(string(got.DesiredSpec), `"labels":{"a":"b"}`) ||
		!strings.Contains(string(got.DesiredSpec), "other") {
		t.Fatalf("%s", got.DesiredSpec)
	}
}

// Without preconditions the last writer wins, but no generation is lost or given twice.
func TestWritersWithoutPreconditionsLoseNoGeneration(t *testing.T) {
	r := newRig(t)
	a := r.create()
	const writers = 8
	seen := make([]int64, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { seen[i] = r.update(a.ID, 100+i).Generation })
	}
	all.Wait()
	known := map[int64]bool{}
	for _, g := range seen {
		if known[g] {
			t.Fatalf("two writers got one generation: %v", seen)
		}
		known[g] = true
	}
	if got := r.get(a.ID); got.Generation != writers+1 {
		t.Fatalf("%+v of %v", got, seen)
	}
}
