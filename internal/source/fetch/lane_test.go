package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestTurns: a namespace has as many requests under way as it may; of others, the one with the fewest comes next; what
// two namespaces want counts for the one that has fewer; and who gives up takes no turn.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(3, 2)
		var order []string
		leave := map[string]func(){}
		enter := func(ctx context.Context, name string, of ...string) {
			go func() {
				out, err := l.enter(ctx, of)
				if err != nil {
					order = append(order, name+" gave up")
					return
				}
				order = append(order, name)
				leave[name] = out
			}()
			synctest.Wait()
		}
		does := func(about string, want ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(order, want) {
				t.Errorf("%s: %v, want %v", about, order, want)
			}
			order = nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		enter(t.Context(), "a1", "a")
		enter(t.Context(), "a2", "a")
		enter(t.Context(), "a3", "a")
		enter(ctx, "a4", "a")
		does("one namespace", "a1", "a2")
		enter(t.Context(), "ab", "a", "b")
		does("of two namespaces", "ab")
		enter(t.Context(), "b1", "b")
		enter(t.Context(), "c1", "c")
		does("all are under way")
		cancel()
		does("it does not wait any more", "a4 gave up")
		leave["a1"]()
		does("the namespace that has none", "c1")
		leave["ab"]()
		does("then the next", "b1")
		leave["a2"]()
		does("then that which waited longest", "a3")
		leave["a3"]()
		leave["b1"]()
		leave["c1"]()
		if l.free != 3 || len(l.underway) != 0 || len(l.waiting) != 0 {
			t.Errorf("%+v, want all free", l)
		}
	})
}

// TestAHangingServerKeepsNobodyElse: while all requests of a namespace hang, another one's document comes, also one
// that both want.
func TestAHangingServerKeepsNobodyElse(t *testing.T) {
	var underway, ended atomic.Int64
	hangs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		underway.Add(1)
		<-r.Context().Done()
		ended.Add(1)
	}))
	w, other, both := newFetcher(t), serve(t), serve(t)
	t.Cleanup(hangs.Close)
	w.edit(func(b *flow.Batch) {
		for i := range 80 {
			w.wanted.Set(b, model.FetchKey{URL: fmt.Sprint(hangs.URL, "/", i)}, wanted(time.Hour, "hostile"))
		}
	})
	w.run()
	for underway.Load() < maxPerNamespace {
		time.Sleep(time.Millisecond) // of requests, nothing is told before they end
	}
	keyOf := func(d *document) model.FetchKey { return model.FetchKey{URL: d.URL} }
	w.edit(func(b *flow.Batch) {
		w.wanted.Set(b, keyOf(other), wanted(time.Hour, "shop"))
		w.wanted.Set(b, keyOf(both), wanted(time.Hour, "hostile", "shop"))
	})
	w.until(keyOf(other), knows(keys))
	w.until(keyOf(both), knows(keys))
	if underway.Load() != maxPerNamespace || ended.Load() != 0 {
		t.Errorf("%d requests hang and %d have ended, want %d and 0", underway.Load(), ended.Load(), maxPerNamespace)
	}
}

// TestSlowSourcesHaveALane: what took long once does not keep others waiting again, however many namespaces have such.
func TestSlowSourcesHaveALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFetcher(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.fetcher.request = func(ctx context.Context, key model.FetchKey, _ model.FetchSpec, _ string) (answer, error) {
			if key.URL == "quick" {
				return answer{content: keys}, nil
			}
			select {
			case <-time.After(requestTimeout):
			case <-ctx.Done():
			}
			return answer{}, refusalError("it took too long")
		}
		w.edit(func(b *flow.Batch) {
			for i := range 400 {
				w.wanted.Set(b, model.FetchKey{URL: fmt.Sprint(i)}, wanted(time.Hour, fmt.Sprint("hostile", i%100)))
			}
		})
		go func() { _ = w.graph.Run(ctx) }()
		go func() { _ = w.fetcher.Run(ctx) }()
		time.Sleep(5 * time.Minute) // all have failed, and are asked again and again
		w.edit(func(b *flow.Batch) { w.wanted.Set(b, model.FetchKey{URL: "quick"}, wanted(time.Hour, "shop")) })
		synctest.Wait()
		var got model.FetchState
		w.graph.View(func(v flow.View) { got, _ = flow.Get(v, w.fetched.Collection(), model.FetchKey{URL: "quick"}) })
		if !got.Known {
			t.Errorf("%+v at once, want that it is known", got)
		}
		cancel()
		synctest.Wait()
	})
}
