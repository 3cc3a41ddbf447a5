package kube

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// TestRouteWaits: a route that begins to name what is not there serves as before until it is there.
func TestRouteWaits(t *testing.T) {
	shop := func(b *bench) (*gatewayv1.HTTPRoute, []metav1.Object) {
		r := route("/old", "web", "shop", 80)
		return r, []metav1.Object{gateway("web", "ours"), service("shop", 80), slice("shop", "10.0.0.1"), r}
	}
	t.Run("for a Service", func(t *testing.T) {
		r, there := shop(nil)
		b := newBench(t, there...)
		b.set(edited(r, "/new", "other", 80))
		b.wantPath("route", "/old")
		b.set(service("other", 80))
		b.wantPath("route", "/old") // nobody would answer: its endpoints are objects of their own
		b.set(slice("other"))
		b.wantPath("route", "/old")
		b.set(slice("other", "10.0.0.2"))
		b.wantPath("route", "/new")
	})
	t.Run("for a port", func(t *testing.T) {
		r, there := shop(nil)
		b := newBench(t, there...)
		b.set(edited(r, "/new", "shop", 81))
		b.wantPath("route", "/old")
		b.set(service("shop", 80, 81))
		b.wantPath("route", "/new")
	})
	t.Run("for a Gateway's listener", func(t *testing.T) {
		r, there := shop(nil)
		b := newBench(t, there...)
		now := edited(r, "/new", "shop", 80)
		now.Spec.ParentRefs[0].SectionName = new(gatewayv1.SectionName("more"))
		b.set(now)
		b.wantPath("route", "/old")
		g := gateway("web", "ours")
		g.Spec.Listeners = append(g.Spec.Listeners, gatewayv1.Listener{Name: "more", Port: 81})
		b.set(g)
		b.wantPath("route", "/new")
	})
	t.Run("not for long", func(t *testing.T) {
		r, there := shop(nil)
		b := newBench(t, there...)
		b.set(edited(r, "/new", "missing", 80))
		b.later(hold)
		b.wantPath("route", "/new")
		if !b.next.IsZero() {
			t.Errorf("the intake wants to work at %v, and has nothing to do", b.next)
		}
	})
	t.Run("and is edited meanwhile", func(t *testing.T) {
		r, there := shop(nil)
		b := newBench(t, there...)
		first := edited(r, "/new", "missing", 80)
		b.set(first)
		b.now = b.now.Add(hold / 2)
		b.set(edited(first, "/newer", "missing", 80))
		b.wantPath("route", "/old")
		b.later(hold / 2) // from the first edit: a route that is edited all the time must not wait for ever
		b.wantPath("route", "/newer")
	})
	t.Run("and goes back meanwhile", func(t *testing.T) {
		r, there := shop(nil)
		b := newBench(t, there...)
		first := edited(r, "/new", "missing", 80)
		b.set(first)
		b.set(edited(first, "/back", "shop", 80))
		b.wantPath("route", "/back")
	})
	t.Run("and is deleted meanwhile", func(t *testing.T) {
		r, there := shop(nil)
		b := newBench(t, there...)
		first := edited(r, "/new", "missing", 80)
		b.set(first)
		b.remove(first)
		b.wantPath("route", "")
		b.set(service("missing", 80), slice("missing", "10.0.0.2"))
		b.wantPath("route", "")
	})
	t.Run("unless it is new", func(t *testing.T) {
		b := newBench(t, gateway("web", "ours"))
		b.set(route("/new", "web", "missing", 80))
		b.wantPath("route", "/new")
	})
	t.Run("unless it was unresolved before", func(t *testing.T) {
		r := route("/old", "web", "missing", 80)
		b := newBench(t, gateway("web", "ours"), r)
		b.set(edited(r, "/new", "missing", 80))
		b.wantPath("route", "/new")
	})
}

// TestLinger: what is gone goes on being there for a moment.
func TestLinger(t *testing.T) {
	has := func(b *bench) bool { _, found := lookup(b, b.sources.Services, "shop"); return found }
	t.Run("and is gone then", func(t *testing.T) {
		s, e := service("shop", 80), slice("shop", "10.0.0.1")
		b := newBench(t, s, e)
		b.remove(s, e)
		if _, found := lookup(b, b.sources.EndpointSlices, "shop-1"); !has(b) || !found {
			t.Fatal("it is gone at once")
		}
		b.now = b.now.Add(hold / 2)
		b.remove(s) // said again: not counted from here
		b.later(hold / 2)
		if _, found := lookup(b, b.sources.EndpointSlices, "shop-1"); has(b) || found {
			t.Fatal("it is still there")
		}
		if len(b.intake.sliceCounts) > 0 {
			t.Errorf("slices are counted that are gone: %v", b.intake.sliceCounts)
		}
	})
	t.Run("or comes back", func(t *testing.T) {
		s := service("shop", 80)
		b := newBench(t, s)
		b.remove(s)
		b.set(service("shop", 80))
		if !has(b) || !b.next.IsZero() {
			t.Fatalf("there: %v, work again at %v", has(b), b.next)
		}
		b.now = b.now.Add(time.Hour)
		if b.work(); !has(b) {
			t.Fatal("it is gone in the end")
		}
	})
	t.Run("or comes back as it was", func(t *testing.T) {
		s := service("shop", 80)
		b := newBench(t, s)
		before := b.rev()
		b.remove(s)
		b.set(s)
		b.now = b.now.Add(time.Hour)
		if b.work(); !has(b) || b.rev() != before {
			t.Fatalf("there: %v, and %d turns", has(b), b.rev()-before)
		}
	})
	t.Run("also if a list says it", func(t *testing.T) {
		b := newBench(t, service("shop", 80), service("other", 80))
		b.list(model.KindService, service("other", 80))
		if !has(b) {
			t.Fatal("it is gone at once")
		}
		if b.later(hold); has(b) {
			t.Fatal("it is still there")
		}
		if _, found := lookup(b, b.sources.Services, "other"); !found {
			t.Fatal("what was on the list is gone")
		}
	})
	t.Run("but not a permission", func(t *testing.T) {
		g := &gatewayv1.ReferenceGrant{ObjectMeta: meta("open", 1)}
		b := newBench(t, g)
		b.remove(g)
		if _, found := lookup(b, b.sources.ReferenceGrants, "open"); found {
			t.Fatal("it is still there")
		}
	})
	t.Run("nor a route", func(t *testing.T) {
		r := route("/", "web", "shop", 80)
		b := newBench(t, gateway("web", "ours"), r)
		b.remove(r)
		b.wantPath("route", "")
	})
}
