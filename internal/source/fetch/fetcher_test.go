package fetch

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

const keys = `{"keys": [{"kty": "EC"}]}`

// wanted is how a document of some namespaces is wanted; none: of "shop".
func wanted(refresh time.Duration, namespaces ...string) model.FetchSpec {
	if len(namespaces) == 0 {
		namespaces = []string{"shop"}
	}
	return model.FetchSpec{Refresh: refresh, Namespaces: namespaces}
}

// tester runs a Fetcher.
type tester struct {
	*testing.T
	graph   *flow.Graph
	wanted  *flow.Source[model.FetchKey, model.FetchSpec]
	fetched *flow.Source[model.FetchKey, model.FetchState]
	fetcher *Fetcher
}

func newFetcher(t *testing.T) *tester {
	g := flow.New(flow.Config{Name: "test", Check: true})
	w := &tester{
		T: t, graph: g, wanted: flow.NewSource[model.FetchKey, model.FetchSpec](g, "wanted"),
		fetched: flow.NewSource[model.FetchKey, model.FetchState](g, "fetched"),
	}
	var err error
	if w.fetcher, err = New(Config{
		Graph: g, Wanted: w.wanted.Collection(), Fetched: w.fetched, Log: slog.New(slog.DiscardHandler),
		Metrics: prometheus.NewRegistry(),
	}); err != nil {
		t.Fatal(err)
	}
	w.edit(func(b *flow.Batch) {
		w.wanted.MarkSynced(b)
		w.fetched.MarkSynced(b)
	})
	return w
}

func (w *tester) edit(edit func(*flow.Batch)) { w.graph.Apply("test", edit) }

func (w *tester) run() {
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = w.graph.Run(ctx) })
	running.Go(func() { _ = w.fetcher.Run(ctx) })
	w.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// until waits until what is known of a document is as is says.
func (w *tester) until(key model.FetchKey, is func(f model.FetchState, there bool) bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	var f model.FetchState
	var there bool
	for range w.graph.Watch(ctx) {
		w.graph.View(func(v flow.View) { f, there = flow.Get(v, w.fetched.Collection(), key) })
		if is(f, there) {
			return
		}
	}
	w.Fatalf("%v is %+v (%t)", key, f, there)
}

func knows(content string) func(model.FetchState, bool) bool {
	return func(f model.FetchState, _ bool) bool { return f == model.FetchState{Known: true, Content: content} }
}

// document is a server of one document with an ETag, which can be down.
type document struct {
	*httptest.Server
	mu          sync.Mutex
	content     string
	status      int
	asked, same atomic.Int64 // requests, and those that were answered with 304
}

func serve(t *testing.T) *document {
	d := &document{content: keys, status: http.StatusOK}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked.Add(1)
		etag := fmt.Sprintf("%q", fmt.Sprint(len(d.content)))
		switch {
		case d.status != http.StatusOK:
			w.WriteHeader(d.status)
		case r.Header.Get("If-None-Match") == etag:
			d.same.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", etag)
			fmt.Fprint(w, d.content)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *document) set(content string, status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.content, d.status = content, status
}

// TestLastGoodIsKept: what is unchanged is told by its ETag; what can't be fetched, or has no keys, leaves what was
// there; and what is new is taken.
func TestLastGoodIsKept(t *testing.T) {
	w, d := newFetcher(t), serve(t)
	key := model.FetchKey{URL: d.URL, RequiredMember: "keys"}
	w.edit(func(b *flow.Batch) { w.wanted.Set(b, key, wanted(5*time.Millisecond)) })
	w.run()
	w.until(key, knows(keys))
	<-w.fetcher.FirstTriesDone()
	for d.same.Load() == 0 {
		time.Sleep(time.Millisecond) // the graph is told nothing of what is unchanged
	}
	kept := func(why string) func(model.FetchState, bool) bool {
		return func(f model.FetchState, _ bool) bool {
			return f == model.FetchState{Known: true, Content: keys, Failure: why}
		}
	}
	for _, bad := range []struct {
		content string
		status  int
		why     string
	}{
		{keys, 500, "the server answers 500"},
		{keys, 404, errMissing.Error()},
		{`{"keys": [ ]}`, 200, `the server answers with text/plain that can't be used: "keys" is not in it, or is empty`},
		{"<html>", 200, "the server answers with text/html that can't be used: it is not a JSON object"},
	} {
		d.set(bad.content, bad.status)
		w.until(key, kept(bad.why))
	}
	d.set(keys, 200)
	w.until(key, knows(keys))
	const other = `{"keys": [{"kty": "RSA"}]}`
	d.set(other, 200)
	w.until(key, knows(other))
	w.edit(func(b *flow.Batch) { w.wanted.Delete(b, key) })
	w.until(key, func(_ model.FetchState, there bool) bool { return !there })
}

// TestNothingElseFetches: an edit of another document, or of how this one is fetched, does not fetch it again.
func TestNothingElseFetches(t *testing.T) {
	w, d, other := newFetcher(t), serve(t), serve(t)
	key, beside := model.FetchKey{URL: d.URL}, model.FetchKey{URL: other.URL}
	w.edit(func(b *flow.Batch) { w.wanted.Set(b, key, wanted(time.Hour)) })
	w.run()
	w.until(key, knows(keys))
	for i := range 3 {
		w.edit(func(b *flow.Batch) {
			w.wanted.Set(b, key, wanted(time.Hour+time.Duration(i)))
			w.wanted.Set(b, beside, wanted(time.Hour))
		})
		w.until(beside, knows(keys))
		w.edit(func(b *flow.Batch) { w.wanted.Delete(b, beside) })
		w.until(beside, func(_ model.FetchState, there bool) bool { return !there })
	}
	if n := d.asked.Load(); n != 1 {
		t.Errorf("it was fetched %d times, want once", n)
	}
}

// TestThereLater: nothing is known of a document whose server is not there, and it is fetched when the server is.
func TestThereLater(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	w := newFetcher(t)
	key := model.FetchKey{URL: "http://" + address}
	w.edit(func(b *flow.Batch) { w.wanted.Set(b, key, wanted(10*time.Millisecond)) })
	w.run()
	<-w.fetcher.FirstTriesDone()
	w.until(key, func(f model.FetchState, _ bool) bool { return f == model.FetchState{Failure: "connection refused"} })
	d := &http.Server{Addr: address, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, keys)
	})}
	go func() { _ = d.ListenAndServe() }()
	t.Cleanup(func() { d.Close() })
	w.until(key, knows(keys))
}
