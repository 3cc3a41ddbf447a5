package files

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one is shared: compiling the rules of a kind takes most of a test's time.
var one = sync.OnceValue(func() *schema.Schema {
	s := schema.New(kinds.NewCatalog())
	return s
})

// rig is a folder that is followed into a running graph.
type rig struct {
	t       testing.TB
	dir     string
	cache   string
	graph   *flow.Graph
	sources *kinds.Sources
	folder  *Folder
	mu      sync.Mutex
	told    []Problem
}

func newRig(t testing.TB, dir, cache string) *rig {
	t.Helper()
	return makeRig(t, dir, cache, flow.Config{Name: "test", Check: true})
}

func makeRig(t testing.TB, dir, cache string, config flow.Config) *rig {
	t.Helper()
	r := &rig{t: t, dir: dir, cache: cache}
	r.graph = flow.New(config)
	r.sources = kinds.NewSources(r.graph)
	r.graph.Apply("start", func(b *flow.Batch) { r.sources.Environment.MarkSynced(b) })
	var err error
	r.folder, err = New(Config{
		Dir: dir, Sources: r.sources.Sources, Graph: r.graph, Schema: one(), CacheDir: cache,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnProblem: func(p Problem) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told = append(r.told, p)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// follow starts Run and the graph, and waits for the first turn.
func (r *rig) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { _ = r.graph.Run(ctx) })
	wait.Go(func() {
		if err := r.folder.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	r.t.Cleanup(func() {
		cancel()
		wait.Wait()
	})
	r.until("the first turn", func() bool {
		rev := flow.Rev(0)
		r.graph.View(func(v flow.View) { rev = v.Rev() })
		return rev > 0
	})
}

// until waits for a condition, and fails after a time that no working run needs.
func (r *rig) until(what string, condition func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s did not happen; problems: %v; objects:\n%s", what, r.folder.Problems(), r.objects())
		}
		time.Sleep(time.Millisecond)
	}
}

// objects lists what the sources hold, one line an object.
func (r *rig) objects() string {
	var b bytes.Buffer
	r.graph.View(func(v flow.View) {
		lines(&b, v, r.sources.GatewayClasses)
		lines(&b, v, r.sources.Gateways)
		lines(&b, v, r.sources.HTTPRoutes)
		lines(&b, v, r.sources.ReferenceGrants)
		lines(&b, v, r.sources.Namespaces)
		lines(&b, v, r.sources.Services)
		lines(&b, v, r.sources.EndpointSlices)
		lines(&b, v, r.sources.Secrets)
		lines(&b, v, r.sources.ConfigMaps)
		lines(&b, v, r.sources.XBackends)
	})
	all := strings.SplitAfter(b.String(), "\n")
	all = all[:len(all)-1]
	// Kinds stand in their order, objects by name.
	sortLines(all)
	return strings.Join(all, "")
}

func sortLines(list []string) {
	for i := range list {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

func lines[S any](w io.Writer, v flow.View, s *input.Source[S]) {
	for ref, o := range flow.All(v, s.Collection()) {
		fmt.Fprintf(w, "%s generation=%d where=%s labels=%v\n", ref, o.Meta.Generation, o.Meta.LastEdit.Where,
			o.Meta.Labels.ToMap())
	}
}

// known is how many objects are published.
func (r *rig) known() (n int) {
	for _, k := range r.folder.catalog.All() {
		n += len(r.folder.objects.PublishedOfKind(k.Kind))
	}
	return n
}

// backend is the name of a route's only backend: it stands for the route's version.
func (r *rig) backend(name string) string {
	backend := ""
	r.graph.View(func(v flow.View) {
		if o, ok := flow.Get(v, r.sources.HTTPRoutes.Collection(), model.Ref(model.KindHTTPRoute, "shop", name)); ok {
			backend = string(o.Spec.Rules[0].BackendRefs[0].Name)
		}
	})
	return backend
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func route(name, backend string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: %s
  namespace: shop
spec:
  parentRefs: [{name: gw}]
  hostnames: [%[1]s.example.com]
  rules:
  - backendRefs: [{name: %s, port: 8080}]
`, name, backend)
}

// Each file in testdata is a folder (in/...), perhaps its later state (then/...), and what comes of it.
func TestFolders(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: archive.Comment}
			r := newRig(t, t.TempDir(), "")
			steps := 0
			for _, step := range []string{"in", "then"} {
				n := 0
				for _, f := range archive.Files {
					if name, ok := strings.CutPrefix(f.Name, step+"/"); ok {
						// Archives hold text only.
						r.write(name, strings.NewReplacer("<TAB>", "\t", "<BAD>", "\xff").Replace(string(f.Data)))
						got.Files = append(got.Files, f)
						n++
					}
				}
				if n == 0 && step == "then" {
					continue
				}
				if err := r.folder.Load(); err != nil {
					t.Fatal(err)
				}
				steps++
				r.graph.Settle()
				var problems strings.Builder
				for _, p := range r.folder.Problems() {
					fmt.Fprintf(&problems, "%s: %s\n", p.Severity, strings.ReplaceAll(p.String(), r.dir, "DIR"))
				}
				got.Files = append(got.Files,
					txtar.File{Name: step + "-problems", Data: []byte(problems.String())},
					txtar.File{Name: step + "-objects", Data: []byte(r.objects())})
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))); diff != "" {
				if !*update {
					t.Fatalf("-want +got:\n%s", diff)
				}
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
