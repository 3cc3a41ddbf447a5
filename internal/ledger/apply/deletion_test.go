package apply

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
)

var deleteNow = metav1.DeleteOptions{}

const (
	finalize   = `{"metadata":{"finalizers":["example.com/slow"]}}`
	unfinalize = `{"metadata":{"finalizers":null}}`
)

// waits waits until the status of an object says that it waits for a finalizer.
func (s *stage) waits(k ledger.Key) {
	s.t.Helper()
	if f := s.fails(k, ledger.Waiting); !strings.Contains(f.Message, "example.com/slow") || f.Permanent {
		s.t.Errorf("it waits: %+v", f)
	}
}

// TestDeletionWaitsForFinalizers, which is no error, and is over as soon as the object is gone.
func TestDeletionWaitsForFinalizers(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	s.merge(k, "slow", finalize)
	s.delete(k)
	s.waits(k)
	if all, _ := s.status(k); all.SummaryState() != "deleting" {
		t.Errorf("the state is %s", all.SummaryState())
	}
	s.merge(k, "slow", unfinalize)
	s.forgotten(k)
}

// TestMadeAgainAfterItsFinalizers: the new generation waits until the old object is gone.
func TestMadeAgainAfterItsFinalizers(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	old := s.merge(k, "slow", finalize)
	s.delete(k)
	s.waits(k)
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	s.becomes(k, func(all ledger.Status, in ledger.InCluster) bool {
		return all.Generation == 3 && in.Applied != nil && in.Applied.Code == ledger.Waiting && in.Attempts > 0
	})
	if now := s.live(k); now.GetUID() != old.GetUID() || field(now, "data", "color") != "red" {
		t.Errorf("the object is %v", now.Object)
	}
	s.merge(k, "slow", unfinalize)
	s.synced(k)
	now := s.live(k)
	if now.GetUID() == old.GetUID() || field(now, "data", "color") != "blue" {
		t.Errorf("the object is %v", now.Object)
	}
	marked(t, now, 3, 3, 3)
}

// TestDeletedByHandWithFinalizers is made again when it is gone.
func TestDeletedByHandWithFinalizers(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	old := s.merge(k, "slow", finalize)
	s.must(s.place(k).Delete(t.Context(), k.Name, deleteNow))
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	s.waits(k)
	s.merge(k, "slow", unfinalize)
	now := s.isThere(k, func(o *unstructured.Unstructured) bool { return o.GetUID() != old.GetUID() })
	if field(now, "data", "color") != "blue" {
		t.Errorf("the object is %v", now.Object)
	}
	s.synced(k)
}

// TestRetainedObjectsStay, without the ledger's marks, and are changed by nobody.
func TestRetainedObjectsStay(t *testing.T) {
	s := newStage(t, func(t *ledger.Target) { t.Retain = true })
	s.run()
	k := s.edit(gatewayText).Key
	s.put(gatewayText)
	s.synced(k)
	before := s.live(k)
	s.delete(k)
	s.forgotten(k)
	now := s.live(k)
	if now == nil || now.GetUID() != before.GetUID() || listeners(now) != "http extra " || ourVersion(now) != "" {
		t.Fatalf("the object is %v", now)
	}
	for name := range now.GetAnnotations() {
		if isMark(name) {
			t.Errorf("it has %s", name)
		}
	}
}

// TestDeletionsAreReversed: what refers to others goes before them.
func TestDeletionsAreReversed(t *testing.T) {
	s := newStage(t)
	s.run()
	config, route := s.edit(configText).Key, s.edit(routeText).Key
	s.put(configText, routeText)
	s.synced(config)
	s.synced(route)
	s.merge(route, "slow", finalize)
	s.commit(ledger.Draft{Edits: []ledger.Edit{{Key: config, Delete: true}, {Key: route, Delete: true}}})
	s.waits(route)
	s.forgotten(config) // what waits holds up nothing
	s.merge(route, "slow", unfinalize)
	s.forgotten(route)
}
