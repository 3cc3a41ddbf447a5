package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/ops/admin"
)

// watched is a file of objects that an admin server shows.
type watched struct {
	*testing.T
	path, server string
}

func (w watched) write(objects ...string) {
	w.Helper()
	// at once: a reader meets a whole file
	if err := os.WriteFile(w.path+".new", []byte(strings.Join(objects, "\n---\n")), 0o600); err != nil {
		w.Fatal(err)
	}
	if err := os.Rename(w.path+".new", w.path); err != nil {
		w.Fatal(err)
	}
}

func newWatched(t *testing.T, objects ...string) watched {
	w := watched{T: t, path: filepath.Join(t.TempDir(), "objects.yaml")}
	w.write(objects...)
	listens, done := make(chan string, 1), make(chan error, 1)
	s, err := admin.New(admin.Config{
		Catalog: kinds.NewCatalog(), Addr: "127.0.0.1:0", Graph: flow.New(flow.Config{}), Objects: file(w.path),
		Ready: func() (bool, string) { return true, "" }, Gatherer: prometheus.NewRegistry(),
		Findings: func() []admin.Finding { return nil }, Explainer: explainer("server"), Differ: differ{},
		OnListen: func(addr string) { listens <- addr },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	w.server = <-listens
	return w
}

func namespace(name, more string) string {
	return "kind: Namespace\nmetadata: {name: " + name + more + "}"
}

// TestWatch: the table, then each row that comes, changes or goes, and no other; Ctrl-C ends it without an error.
func TestWatch(t *testing.T) {
	w := newWatched(t, namespace("shop", ""), namespace("other", ""))
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Main(ctx, strings.Fields("get ns --watch --server "+w.server), spy(), in, in)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal("no more lines")
		}
		if got := strings.Join(strings.Fields(lines.Text()), " "); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	next("NAME STATUS STALE AGE")
	next("shop Active False <unknown>")
	next("other Active False <unknown>")
	w.write(namespace("shop", ""), namespace("other", ", annotations: {cardea.dev/stale: broken}"))
	next("other Active True <unknown>")
	w.write(namespace("other", ", annotations: {cardea.dev/stale: broken}"))
	next("shop Active False <unknown> <gone>")
	w.write(namespace("other", ", annotations: {cardea.dev/stale: broken}"), namespace("late", ""))
	next("late Active False <unknown>")
	stop()
	if lines.Scan() {
		t.Errorf("at the end: %q", lines.Text())
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestWhatIsWatched(t *testing.T) {
	for line, want := range map[string]string{
		"get --watch":             "--watch shows tables of one KIND or of findings",
		"get ns --watch -o yaml":  "--watch shows tables of one KIND or of findings",
		"get findings/web":        "unknown kind",
		"get findings web":        "findings have no names",
		"get findings -w --kube":  "findings of a cluster can't be watched",
		"get findings -o nothing": "want table, wide, yaml or json",
	} {
		if out, code := run(t, line); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: %d, %s", line, code, out)
		}
	}
}

// TestStale: an older version serves if the running Cardea says so, or if a controller has not seen the newest one yet.
func TestStale(t *testing.T) {
	meta := map[string]any{"generation": 2.0}
	conditions := func(seen float64) []any {
		return []any{map[string]any{"type": "Accepted", "observedGeneration": seen}}
	}
	parent := func(controller string, seen float64) map[string]any {
		return map[string]any{"parents": []any{map[string]any{"controllerName": controller, "conditions": conditions(seen)}}}
	}
	for name, story := range map[string]struct {
		object object
		want   string
	}{
		"nothing is known": {object{}, "False"},
		"annotation": {object{"metadata": map[string]any{"annotations": map[string]any{"cardea.dev/stale": "broken"}}},
			"True"},
		"seen":     {object{"metadata": meta, "status": map[string]any{"conditions": conditions(2)}}, "False"},
		"not seen": {object{"metadata": meta, "status": map[string]any{"conditions": conditions(1)}}, "True"},
		"a listener was not seen": {object{"metadata": meta, "status": map[string]any{
			"listeners": []any{map[string]any{"conditions": conditions(1)}}}}, "True"},
		"a route was not seen": {object{"metadata": meta, "status": parent("cardea.dev/gateway-controller", 1)}, "True"},
		"by another one":       {object{"metadata": meta, "status": parent("other.example/controller", 1)}, "False"},
	} {
		if got := staleCell(story.object); got != story.want {
			t.Errorf("%s: %s, want %s", name, got, story.want)
		}
	}
}
