package ledgerfeed

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/source/synthetic"
	"cardea.dev/cardea/internal/source/validcache"
	"cardea.dev/cardea/internal/test/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// waitTimeout is how long a test waits for what must come.
const waitTimeout = time.Minute

// one is shared: compiling the rules of a kind takes most of a test's time.
var one = sync.OnceValue(func() *schema.Schema { return schema.New(kinds.NewCatalog()) })

// rig is a real ledger, and a feed of it into a running graph.
type rig struct {
	t       *testing.T
	url     string
	cache   string
	store   *store.Store // for what the test writes, and what the feed reads
	graph   *flow.Graph
	sources *kinds.Sources
	feed    *Feed

	mu  sync.Mutex
	all [][]ledger.Object // that went into the graph
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return rigOf(t, filepath.Join(t.TempDir(), "ledger.db"), filepath.Join(t.TempDir(), "cache"))
}

// beside is another program with the same ledger.
func (r *rig) beside() *rig {
	r.t.Helper()
	return rigOf(r.t, r.url, r.cache)
}

func rigOf(t *testing.T, url, cache string) *rig {
	t.Helper()
	r := &rig{t: t, url: url, cache: cache, graph: flow.New(flow.Config{Name: "test", Check: true})}
	r.sources = kinds.NewSources(r.graph)
	r.graph.Apply("start", func(b *flow.Batch) { r.sources.Environment.MarkSynced(b) })
	r.store = r.open(url)
	r.feed = New(Config{
		Ledger: r.store, Target: ledger.DefaultTarget, Sources: r.sources.Sources, Graph: r.graph, Schema: one(),
		Cache: validcache.New(cache, "test", one()), Log: slog.New(slog.DiscardHandler),
		OnApplied: func(list []ledger.Object) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.all = append(r.all, list)
		},
	})
	return r
}

func (r *rig) open(url string) *store.Store {
	r.t.Helper()
	s, err := store.Open(r.t.Context(), store.Config{URL: url})
	r.must(err)
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// run follows the ledger until the test ends, or stop is called. It waits until everything was read once.
func (r *rig) run() (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := r.feed.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		wait.Wait()
	})
	r.t.Cleanup(stop)
	r.eventually(func() string {
		if !r.feed.HasLoaded() {
			return "it is not loaded"
		}
		return ""
	})
	return stop
}

// eventually waits until holds says nothing.
func (r *rig) eventually(holds func() (why string)) {
	r.t.Helper()
	for end := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		why := holds()
		if why == "" {
			return
		}
		if time.Now().After(end) {
			r.t.Fatal(why)
		}
	}
}

// fed is what went into the graph.
func (r *rig) fed() [][]ledger.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// taken waits until a change went into the graph.
func (r *rig) taken(number int64) {
	r.t.Helper()
	r.eventually(func() string {
		for _, list := range r.fed() {
			for _, o := range list {
				if o.Change >= number {
					return ""
				}
			}
		}
		return fmt.Sprintf("change %d is not taken: %+v", number, r.feed.Problems())
	})
	r.graph.Settle()
}

// commit makes a change, without the checks of package admission.
func (r *rig) commit(edits ...ledger.Edit) int64 {
	r.t.Helper()
	c, err := r.store.Commit(r.t.Context(), ledger.Draft{Author: "alice", Message: "because", Edits: edits})
	r.must(err)
	return c.Number
}

// get is an object of the graph.
func (r *rig) get(ref model.ObjectRef) (o kind.UntypedObject, found bool) {
	r.graph.Settle()
	r.graph.View(func(v flow.View) { o, found = r.sources.KindSource(ref.Kind()).Get(v, ref) })
	return o, found
}

// is compares the objects of the graph, but for the GatewayClass: kind, name, generation and where it is from.
func (r *rig) is(want string) {
	r.t.Helper()
	var lines []string
	r.graph.Settle()
	r.graph.View(func(v flow.View) {
		for _, k := range r.sources.Catalog.All() {
			source := r.sources.KindSource(k.Kind)
			if source == nil {
				continue
			}
			for _, ref := range source.ListRefs(v) {
				o, _ := source.Get(v, ref)
				line := fmt.Sprintf("%s %s %d change %d\n", k.Kind, ref.Name(), o.Meta.Generation, o.Meta.LastEdit.Change)
				if o.Meta.LastEdit.Change == 0 {
					line = fmt.Sprintf("%s %s implied\n", k.Kind, ref.Name())
				}
				if ref != synthetic.Class {
					lines = append(lines, line)
				}
			}
		}
	})
	slices.Sort(lines)
	if got := strings.Join(lines, ""); got != want {
		r.t.Errorf("the graph has\n%swant\n%s", got, want)
	}
}

// broken is how many objects have no version that could be read.
func (r *rig) broken() (n int) {
	r.graph.Settle()
	r.graph.View(func(v flow.View) {
		for range flow.All(v, r.sources.Broken.Collection()) {
			n++
		}
	})
	return n
}

func edit(group, version, kind, name string, more map[string]any) ledger.Edit {
	object := map[string]any{"apiVersion": strings.TrimPrefix(group+"/"+version, "/"), "kind": kind}
	meta := map[string]any{"name": name}
	if kind != "Namespace" {
		meta["namespace"] = "shop"
	}
	object["metadata"] = meta
	for field, value := range more {
		object[field] = value
	}
	k, content, err := ledger.ContentOf(ledger.DefaultTarget, object)
	if err != nil {
		panic(err)
	}
	return ledger.Edit{Key: k, Content: content}
}

func route(name, host string) ledger.Edit {
	return edit("gateway.networking.k8s.io", "v1", "HTTPRoute", name, map[string]any{"spec": map[string]any{
		"hostnames": []any{host + ".example"}}})
}

func service(name string) ledger.Edit {
	return edit("", "v1", "Service", name, map[string]any{"spec": map[string]any{
		"ports": []any{map[string]any{"port": 80}}}})
}

func secret(name string) ledger.Edit {
	return edit("", "v1", "Secret", name, map[string]any{"stringData": map[string]any{"password": "hunter2"}})
}

func namespace() ledger.Edit { return edit("", "v1", "Namespace", "shop", nil) }

func remove(e ledger.Edit) ledger.Edit { return ledger.Edit{Key: e.Key, Delete: true} }

// replaced is an edit with another text in its content.
func replaced(e ledger.Edit, is, other string) ledger.Edit {
	e.Content = ledger.Content(strings.Replace(string(e.Content), is, other, 1))
	if !json.Valid(e.Content) {
		panic("not JSON")
	}
	return e
}
