package policy_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/e2e"
	"cardea.dev/cardea/internal/translate/policy"
)

var update = flag.Bool("update", false, "rewrite what the stories expect; inspect the diff")

// features are Cardea's own, and the kinds of policies that have them.
var features = sync.OnceValues(func() (*e2e.Plugged, error) { return e2e.Plug(builtin.Plugins()) })

// TestStories runs each txtar file of testdata: sections of objects, and between them what comes of all objects so far.
//
//	-- NAME.yaml --         objects that come, or change
//	-- drop --              objects that go
//	-- status --            the conditions of policies, at each ancestor
//	-- findings --          what is wrong
//	-- in force --          what counts of each policy at rules, listeners and backends, and what it counts in place of
//	-- fields KIND NAME --  where the fields of a policy count
//	-- grants KIND NAME --  who may ask a backend for what, at each rule that sends requests to it
func TestStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { tellStory(t, path) })
	}
}

func tellStory(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := features()
	if err != nil {
		t.Fatal(err)
	}
	w := p.WorldOf(t, nil)
	changed := false
	for i, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".yaml") || f.Name == "drop" {
			w.Graph.Apply("test", func(b *flow.Batch) {
				for _, doc := range e2e.ReadDocs(string(f.Data)) {
					switch {
					case !p.IsValid(doc):
						t.Errorf("%s: %v is not valid", f.Name, doc)
					case f.Name == "drop":
						p.Drop(b, w, doc)
					default:
						p.Put(b, w, doc)
					}
				}
			})
			w.Graph.Settle()
			continue
		}
		got := look(t, p, w, f.Name)
		if bytes.Equal(got, f.Data) {
			continue
		}
		if !*update {
			t.Errorf("%s:\n%s\nwant:\n%s", f.Name, got, f.Data)
		}
		archive.Files[i].Data, changed = got, true
	}
	if changed && *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// look is what a section should hold.
func look(t *testing.T, p *e2e.Plugged, w *world.World, section string) []byte {
	t.Helper()
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	words := strings.Fields(section)
	switch words[0] {
	case "findings":
		for _, f := range w.Findings() {
			say("%s: %s: %s", f.Severity, f.Object, f.Describe())
		}
		return fmt.Appendln(nil, strings.Join(lines, "\n"))
	case "status":
		w.Graph.View(func(v flow.View) { sayStatus(p, w, v, say) })
	case "in":
		w.Graph.View(func(v flow.View) { sayInForce(w, v, say) })
	case "fields":
		w.Graph.View(func(v flow.View) {
			for _, r := range w.Policies.TraceFields(v, refOf(w, words)) {
				say("%s: %s: in force %q, superseded %q", r.Field, r.Value, r.InForce, r.Lost)
			}
		})
	case "grants":
		w.Graph.View(func(v flow.View) { sayGrants(w, v, refOf(w, words), say) })
	default:
		t.Fatalf("there is no section %q", section)
	}
	slices.Sort(lines)
	return fmt.Appendln(nil, strings.Join(lines, "\n"))
}

// refOf is the object of "fields KIND NAMESPACE/NAME".
func refOf(w *world.World, words []string) model.ObjectRef {
	namespace, name, _ := strings.Cut(words[2], "/")
	kind, _ := w.Sources.Catalog.FindByName(words[1])
	return model.Ref(kind.Kind, namespace, name)
}

func sayStatus(p *e2e.Plugged, w *world.World, v flow.View, say func(string, ...any)) {
	for _, e := range p.Extensions {
		for ref, r := range w.Reports.ForKind(e.Kind.Kind).All(v) {
			for _, a := range r.Status.(gatewayv1.PolicyStatus).Ancestors {
				var words []string
				for _, c := range a.Conditions {
					words = append(words, fmt.Sprintf("%s=%s %s", strings.TrimPrefix(c.Type, "cardea.dev/"), c.Status, c.Reason))
				}
				section := ""
				if a.AncestorRef.SectionName != nil {
					section = " " + string(*a.AncestorRef.SectionName)
				}
				say("%s at %s %s%s: %s", ref, *a.AncestorRef.Kind, a.AncestorRef.Name, section, strings.Join(words, ", "))
			}
		}
	}
}

func sayInForce(w *world.World, v flow.View, say func(string, ...any)) {
	s := policy.Snapshot{View: v}
	for ref, route := range flow.All(v, w.Plan.Routes) {
		for _, place := range route.Listeners {
			for _, rule := range route.Rules {
				at := fmt.Sprintf("%s %s at %s", ref, rule.Key.Name, place.Listener.Section)
				sayPieces(w, w.Policies.PiecesAt(s, place.Gateway, place.Listener, rule.Key), at, say)
				for i := range rule.Backends {
					sayPieces(w, w.Policies.PiecesAtRef(s, place.Listener, rule.Key, i), fmt.Sprintf("%s backend %d", at, i), say)
				}
			}
		}
	}
	for k := range flow.All(v, w.Plan.Listeners) {
		sayPieces(w, w.Policies.PiecesAtListener(s, k), "listener "+k.Section, say)
	}
	for k := range flow.All(v, w.Plan.Backends) {
		sayPieces(w, w.Policies.PiecesOfBackend(v, k), k.Backend.Describe()+" at "+k.Gateway.Name(), say)
	}
}

func sayPieces(w *world.World, pieces []policy.RulePiece, at string, say func(string, ...any)) {
	for _, p := range pieces {
		what := fmt.Sprintf("%s: %s.%s", at, p.Kind, p.Feature)
		if p.Status != 0 {
			say("%s answers %d", what, p.Status)
		}
		if p.Rendered.OfListener().Closed {
			say("%s closes connections", what)
		}
		switch {
		case p.Idle != "":
			say("%s is idle: %s", what, p.Idle)
		case p.JSON == "" && !p.TurnsOffNothing():
			say("%s is off: %s", what, p.Disabled)
		}
		for _, f := range p.Fields {
			say("%s", what+strings.TrimPrefix(policy.FieldPath(p.Feature, f.Path), p.Feature)+" = "+f.Value+": "+f.From.String())
		}
		for _, l := range p.Superseded {
			say("%s over %s %s: %s", what, l.Path, l.Value, l.From)
		}
		for _, text := range w.Policies.DescribePiece(p) {
			say("%s says: %s", what, text)
		}
	}
}

func sayGrants(w *world.World, v flow.View, backend model.ObjectRef, say func(string, ...any)) {
	s := policy.Snapshot{View: v}
	for ref, route := range flow.All(v, w.Plan.Routes) {
		for _, place := range route.Listeners {
			for _, rule := range route.Rules {
				for i, b := range rule.Backends {
					if b.Backend.Object != backend {
						continue
					}
					at := fmt.Sprintf("%s %s at %s", ref, rule.Key.Name, place.Listener.Section)
					pieces := w.Policies.ToBackend(s, place.Gateway, place.Listener, rule.Key, i)
					grants, stated := w.Policies.ListGrants(pieces, nil)
					if !stated {
						say("%s: open", at)
					}
					for _, g := range grants {
						say("%s: %+v", at, g)
					}
					for _, tool := range w.Policies.NamedTools(pieces) {
						say("%s: names %+v", at, tool)
					}
				}
			}
		}
	}
}
