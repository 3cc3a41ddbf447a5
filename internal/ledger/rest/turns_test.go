package rest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
)

// TestWatchesOfACaller: each caller has so many watches, and one more when one of them ends.
func TestWatchesOfACaller(t *testing.T) {
	r := newRig(t)
	var open []*stream
	for range rest.Watches.PerCaller {
		open = append(open, r.watch("bob", "", ""))
	}
	if a := r.do(call{who: "bob", method: "GET", path: "/watch"}); a.problem(429, ledger.TooMany).Fix == "" ||
		a.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %v", a.Header)
	}
	if s := r.watch("alice", "", ""); s.StatusCode != 200 {
		t.Errorf("another caller: %s", s.Status)
	}
	r.do(call{who: "bob", method: "GET", path: "/head"}).is(200, nil)
	open[0].stop()
	open[0].Body.Close()
	for s := r.watch("bob", "", ""); s.StatusCode != 200; s = r.watch("bob", "", "") {
		s.Body.Close()
	}
}

// TestWaitsOfACaller: the same of requests that wait. What does not wait is answered.
func TestWaitsOfACaller(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	l := rest.NewLimits(0)
	waiting := newRig(t, func(c *rest.Config) { c.Ledger, c.Limits = r.store, l })
	for range rest.Waiting.PerCaller {
		if _, err := l.AcquireSlot(t.Context(), "alice", rest.Waiting); err != nil {
			t.Fatal(err)
		}
	}
	status := call{who: "alice", method: "GET", path: "/changes/1/status?wait=1s"}
	waiting.do(status).problem(429, ledger.TooMany)
	status.path = "/changes/1/status"
	waiting.do(status).is(200, nil)
}

// TestPreviewsOfACaller: one more than may be waits for its turn, and others are not held up by who has many.
func TestPreviewsOfACaller(t *testing.T) {
	asks, goOn := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(c *rest.Config) {
		c.Preview = (&requestInfo{before: func() { asks <- struct{}{}; <-goOn }}).previews(c.Ledger)
	})
	r.lets("bob", "shop", ledger.MayWrite)
	var all sync.WaitGroup
	ask := func(who string) {
		all.Go(func() {
			r.do(call{who: who, method: "POST", path: "/preview",
				body: wire.Draft{Edits: []wire.Edit{editFromContent("a", "a.example")}}}).is(200, nil)
		})
	}
	for range rest.Previews.PerCaller + 1 {
		ask("alice")
	}
	for range rest.Previews.PerCaller {
		<-asks
	}
	ask("bob")
	<-asks
	select {
	case <-asks:
		t.Error("the caller's last preview did not wait")
	default:
	}
	close(goOn)
	<-asks
	all.Wait()
}

// TestTurns: a turn that does not wait is refused at once, one that waits gets it, and who gives up gives it back.
func TestTurns(t *testing.T) {
	l := rest.NewLimits(0)
	few := rest.ConcurrencyLimit{Name: "things", PerCaller: 1, Total: 2}
	begin := func(who string) (func(), error) { return l.AcquireSlot(t.Context(), who, few) }
	first, err := begin("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begin("a"); ledger.CodeOf(err) != ledger.TooMany {
		t.Errorf("a second one: %v", err)
	}
	if _, err := begin("b"); err != nil {
		t.Errorf("another caller: %v", err)
	}
	if _, err := begin("c"); ledger.CodeOf(err) != ledger.Unavailable {
		t.Errorf("more than all may have: %v", err)
	}
	first()
	first() // ends once
	if _, err := begin("c"); err != nil {
		t.Errorf("after one ended: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	few.Wait = 1 << 40
	if _, err := l.AcquireSlot(gone, "c", few); err == nil {
		t.Error("who gave up got a turn")
	}
}

// TestQueueOfACaller: of those that wait for a turn, a caller may have a few, too. One more is refused at once.
func TestQueueOfACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, few := rest.NewLimits(0), rest.ConcurrencyLimit{Name: "things", PerCaller: 1, Total: 9, Wait: time.Minute}
		end, err := l.AcquireSlot(t.Context(), "a", few)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range rest.QueuePerSlot * few.PerCaller {
			all.Go(func() {
				end, err := l.AcquireSlot(t.Context(), "a", few)
				if err != nil {
					t.Error(err)
					return
				}
				end()
			})
		}
		synctest.Wait()
		began := time.Now()
		if _, err := l.AcquireSlot(t.Context(), "a", few); ledger.CodeOf(err) != ledger.TooMany || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := l.AcquireSlot(t.Context(), "b", few); err != nil {
			t.Errorf("another caller: %v", err)
		}
		end()
		all.Wait()
	})
}
