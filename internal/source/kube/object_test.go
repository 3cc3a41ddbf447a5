package kube

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

func TestLastEdit(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(1e9+second, 0).UTC() }
	entry := func(manager string, second int64, subresource, fields string) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, Time: &metav1.Time{Time: at(second)}, Subresource: subresource,
			FieldsV1: &metav1.FieldsV1{}}
		e.FieldsV1.SetRawString(fields)
		return e
	}
	const spec, meta, status = `{"f:metadata":{"f:labels":{}},"f:spec":{"f:hostnames":{}}}`,
		`{"f:metadata":{"f:finalizers":{}}}`, `{"f:status":{}}`
	untimed := entry("untimed", 0, "", spec)
	untimed.Time = nil
	for _, c := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    model.LastEdit
	}{
		{"nobody", nil, model.LastEdit{}},
		{"one", []metav1.ManagedFieldsEntry{entry("kubectl", 1, "", spec)}, model.LastEdit{By: "kubectl", At: at(1)}},
		{"the newest", []metav1.ManagedFieldsEntry{entry("new", 2, "", spec), entry("old", 1, "", spec)},
			model.LastEdit{By: "new", At: at(2)}},
		{"within a second, the last", []metav1.ManagedFieldsEntry{entry("a", 1, "", spec), entry("b", 1, "", spec)},
			model.LastEdit{By: "b", At: at(1)}},
		{"not the status", []metav1.ManagedFieldsEntry{entry("a", 1, "", spec), entry("b", 2, "status", status)},
			model.LastEdit{By: "a", At: at(1)}},
		{"not a finalizer", []metav1.ManagedFieldsEntry{entry("a", 1, "", spec), entry("b", 2, "", meta)},
			model.LastEdit{By: "a", At: at(1)}},
		{"no spec", []metav1.ManagedFieldsEntry{entry("a", 1, "", meta), entry("b", 2, "status", status)},
			model.LastEdit{By: "a", At: at(1)}},
		{"no time", []metav1.ManagedFieldsEntry{untimed}, model.LastEdit{}},
	} {
		if got := lastEdit(c.entries, "spec"); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestHeld: a finalizer is an edit of metadata alone, and makes another version.
func TestHeld(t *testing.T) {
	version := func(finalizers ...string) *object {
		o, err := read(&gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop",
			Finalizers: finalizers}})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	other, held := version("example.com/other"), version("example.com/other", model.Finalizer)
	if other.meta.HasFinalizer || !held.meta.HasFinalizer || other.fingerprint == held.fingerprint {
		t.Errorf("%+v and %+v", other, held)
	}
}

// TestEndingClock: nobody waits for a request that will not be made.
func TestEndingClock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	at := endingClock{ctx: ctx}.After(time.Hour)
	cancel()
	select {
	case <-at:
	case <-time.After(patient):
		t.Error("the wait did not end")
	}
	<-endingClock{ctx: t.Context()}.After(time.Millisecond)
}
