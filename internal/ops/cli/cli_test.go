package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/explain"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cardea": func() {
		os.Exit(Main(context.Background(), os.Args[1:], spy(), os.Stdout, os.Stderr))
	}})
}

// spy is a Program that prints how it was called. What the real one does is tested where it is.
func spy() Program {
	told := func(o standalone.Options) string {
		return fmt.Sprintf("dir=%s envoy=%s offset=%d bind=%v admin=%s work=%s budgets=%v", o.Dir, o.ProxyProgram,
			o.PortOffset, o.Bind, o.Admin, o.WorkDir, o.Budgets)
	}
	return Program{
		Catalog:  kinds.NewCatalog(),
		Dialects: dataplanes.All(),
		Standalone: func(_ context.Context, o standalone.Options) error {
			o.Log.Info("info line")
			o.Log.Debug("debug line")
			_, err := fmt.Fprintln(os.Stdout, "standalone", told(o))
			return err
		},
		Check: func(_ context.Context, o standalone.Options, w io.Writer) (int, error) {
			_, err := fmt.Fprintln(w, "check", told(o), "namespace="+o.Namespace)
			if text, failed := os.ReadFile(o.Dir); failed == nil {
				_, err = fmt.Fprintf(w, "%s: %s", filepath.Base(o.Dir), text)
			}
			return strings.Count(o.Dir, "wrong"), err
		},
		Translate: func(_ context.Context, o standalone.Options, gateway, format string, w io.Writer) error {
			_, err := fmt.Fprintln(w, "translate", told(o), "gateway="+gateway, "format="+format)
			return err
		},
		Objects: func(_ context.Context, o standalone.Options) ([]map[string]any, error) {
			if o.Dir == "none" {
				return nil, errors.New("no such folder")
			}
			if o.Dir == "empty" {
				return nil, nil
			}
			at := func(namespace, name string) map[string]any {
				return map[string]any{"namespace": namespace, "name": name}
			}
			return []map[string]any{{"name": o.Dir}, {"kind": "HTTPRoute", "metadata": at("shop", "cart")},
				{"kind": "HTTPRoute", "metadata": at("a", "b")},
				{"kind": "GatewayClass", "metadata": map[string]any{"name": "own"}},
				{"kind": "Namespace", "metadata": map[string]any{"name": "shop"}}}, nil
		},
		Explainer: func(_ context.Context, o standalone.Options) (admin.Explainer, error) { return explainer(told(o)), nil },
		Gateways: func(_ context.Context, o standalone.Options) ([]string, error) {
			if o.Dir != "right" || o.Log == nil {
				return nil, errors.New("no such folder")
			}
			if o.Dir == "empty" {
				return nil, nil
			}
			return []string{"other/api", "shop/web"}, nil
		},
	}
}

// explainer tells what it was asked, and its own name.
type explainer string

func (e explainer) ExplainRequest(q explain.Question) (explain.Story, error) {
	return explain.Story{Request: fmt.Sprintf("%s %+v", e, q)}, nil
}

func (e explainer) ExplainObject(ref model.ObjectRef) (explain.Object, bool) {
	return explain.Object{Object: fmt.Sprintf("%s %s", e, ref)}, ref.Name() != "none"
}

func (e explainer) ExplainAccess(ref model.ObjectRef) (a explain.Access, err error) {
	if ref.Kind() == model.KindMCPBackend && ref.Name() != "none" {
		a = explain.Access{Backend: fmt.Sprintf("%s %s", e, ref), Places: []explain.AccessPlace{{
			Rule: "rule tools of HTTPRoute a/b", Listener: "listener https of Gateway a/c",
			Grants: []request.Grant{{Caller: "everybody else"}},
		}}}
	}
	return a, nil
}

// differ says what was to be compared: a folder called "same" changes nothing, of a "wrong" one something is refused.
type differ struct{}

func (differ) Diff(e diff.Edit) (r diff.Report, err error) {
	switch name := fmt.Sprint(e.Objects[0]["name"]); name {
	case "same":
	case "wrong":
		r.Refused = []string{"wrong"}
	case "bad":
		err = fmt.Errorf("bad: %w", diff.ErrBadObject)
	default:
		r.Objects = []string{fmt.Sprintf("~ %s prune=%v", name, e.Prune)}
	}
	return r, err
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			server, err := serve(env, filepath.Join(env.WorkDir, "objects.yaml"))
			env.Setenv("CARDEA_SERVER", server)
			return err
		},
	})
}

// serve runs a real admin server over the objects in a file, until the script ends.
func serve(env *testscript.Env, path string) (url string, err error) {
	listens, done := make(chan string, 1), make(chan error, 1)
	s, err := admin.New(admin.Config{
		Catalog:  kinds.NewCatalog(),
		Addr:     "127.0.0.1:0",
		Graph:    flow.New(flow.Config{}),
		Objects:  file(path),
		Ready:    func() (bool, string) { return true, "" },
		Gatherer: prometheus.NewRegistry(),
		Findings: func() []admin.Finding {
			return []admin.Finding{
				{Severity: "error", Object: "HTTPRoute shop/web", Where: "web.yaml:7", Field: "spec.rules[0]",
					Condition: "ResolvedRefs", Reason: "BackendNotFound", Message: "Service shop/x does not\nexist"},
				{Severity: "warning", Where: "web.yaml:3", Message: "odd"},
				{Severity: "warning", Object: "GatewayClass own", Where: "web.yaml:5", Message: "unused"},
			}
		},

		Explainer: explainer("server"),
		Differ:    differ{},
		OnListen:  func(addr string) { listens <- addr },
	})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- s.Run(ctx) }()
	env.Defer(func() {
		cancel()
		<-done
	})
	select {
	case addr := <-listens:
		return "http://" + addr, nil
	case err := <-done:
		done <- err
		return "", err
	}
}

// file is the path of a file of objects.
type file string

func (f file) Count(kind model.Kind) (int, error) {
	list, err := f.List(kind, "")
	return len(list), err
}

func (f file) List(kind model.Kind, namespace string) (list []json.RawMessage, err error) {
	data, err := os.ReadFile(string(f))
	if err != nil {
		return nil, err
	}
	for _, document := range strings.Split(string(data), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return nil, err
		}
		if o.TextAt("kind") != kind.String() || namespace != "" && o.TextAt("metadata", "namespace") != namespace {
			continue
		}
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func (f file) Get(ref model.ObjectRef) (json.RawMessage, bool, error) {
	list, err := f.List(ref.Kind(), ref.Namespace())
	i := slices.IndexFunc(list, func(text json.RawMessage) bool {
		var o object
		return json.Unmarshal(text, &o) == nil && o.TextAt("metadata", "name") == ref.Name()
	})
	if err != nil || i < 0 {
		return nil, false, err
	}
	return list[i], true, nil
}

func TestAgeIsToldAsKubectlDoes(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for created, want := range map[string]string{
		"2026-11-21T11:59:30Z": "30s",
		"2026-11-21T10:00:00Z": "120m",
		"2026-11-11T12:00:00Z": "10d",
		"":                     "<unknown>",
		"yesterday":            "<unknown>",
	} {
		o := object{"metadata": map[string]any{"creationTimestamp": created}}
		if got := ageCell(o, now); got != want {
			t.Errorf("created %q: %s, want %s", created, got, want)
		}
	}
	// In a file, the creation counts where it is stated, else the edit of the file.
	edited := map[string]any{"creationTimestamp": nil,
		"annotations": map[string]any{"cardea.dev/edited": "2026-11-21T11:00:00Z"}}
	if got := ageCell(object{"metadata": edited}, now); got != "60m" {
		t.Errorf("edited an hour ago: %s", got)
	}
	edited["creationTimestamp"] = "2026-11-11T12:00:00Z"
	if got := ageCell(object{"metadata": edited}, now); got != "10d" {
		t.Errorf("created ten days ago: %s", got)
	}
}

func TestEveryKindCanBePrinted(t *testing.T) {
	for _, kind := range kinds.All() {
		if kind.Columns == nil {
			t.Errorf("%s has no columns", kind)
		}
		// Nothing that an object lacks may matter.
		got := tableOf(kind, []object{{}}, time.Now(), true, true)
		if len(got.rows[0]) != len(got.columns) {
			t.Errorf("%s: %d words under %d columns", kind, len(got.rows[0]), len(got.columns))
		}
	}
}
