package status

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

var update = flag.Bool("update", false, "rewrite what the stories expect")

// now is when the stories are written; before that it was 2026.
var now = metav1.NewTime(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))

// formOf is the form of a kind's status.
func formOf(k model.Kind) *statusLayout { return &statusLayout{kinds.NewCatalog().FindKind(k).Status} }

var (
	routeForm = formOf(model.KindHTTPRoute)
	routeKind = &statusKind{declared: kinds.NewCatalog().FindKind(model.KindHTTPRoute), statusLayout: *routeForm}
)

var forms = map[string]*statusLayout{"GatewayClass": formOf(model.KindGatewayClass),
	"Gateway":   formOf(model.KindGateway),
	"HTTPRoute": formOf(model.KindHTTPRoute)}

// TestMerge tells stories: what the API server has ("is") and a report ("want") become a verdict, a status and Events
// ("out").
func TestMerge(t *testing.T) {
	paths, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no stories", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			story, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]string{}
			for _, f := range story.Files {
				sections[f.Name] = string(f.Data)
			}
			out := tell(t, sections)
			if out == sections["out"] {
				return
			}
			if !*update {
				t.Fatalf("got:\n%s\nwant:\n%s", out, sections["out"])
			}
			for i, f := range story.Files {
				if f.Name == "out" {
					story.Files[i].Data = []byte(out)
				}
			}
			if err := os.WriteFile(path, txtar.Format(story), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func tell(t *testing.T, sections map[string]string) string {
	t.Helper()
	f := forms[strings.TrimSpace(sections["kind"])]
	is, err := f.parseStatus(asJSON(t, sections["is"]), model.ControllerName)
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.parseReport(asJSON(t, sections["want"]), model.ControllerName)
	if err != nil {
		t.Fatal(err)
	}
	seen, wanted := f.digestParts(is), f.digestParts(want)
	wanted.hasOurs = wanted.hasOurs || !f.Controlled
	generation := wanted.generation
	if text := strings.TrimSpace(sections["generation"]); text != "" {
		if generation, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	v := compareDigests(true, generation, &seen, &wanted)
	fmt.Fprintf(&out, "%s\n", []string{"same", "behind", "prompt", "await", "leave", "words"}[v])
	m := f.mergeStatus(is, want, now)
	if (v == upToDate) != (len(m.fields) == 0) {
		t.Errorf("judged %d, and yet the patch is %v", v, m.fields)
	}
	out.Write(asYAML(t, after(t, asJSON(t, sections["is"]), m.fields)))
	if m.dropped > 0 {
		fmt.Fprintf(&out, "no room for %d\n", m.dropped)
	}
	for _, n := range makeNotes(m.transitions, nil) {
		fmt.Fprintf(&out, "%s %s %s %q\n", n.eventType, n.action, n.reason, n.text)
	}
	again(t, f, after(t, asJSON(t, sections["is"]), m.fields), want)
	return out.String()
}

// again writes once more: nothing may be left to write, and what was written must look as it is wanted if all had room.
func again(t *testing.T, f *statusLayout, status []byte, want statusParts) {
	t.Helper()
	is, err := f.parseStatus(status, model.ControllerName)
	if err != nil {
		t.Fatal(err)
	}
	m := f.mergeStatus(is, want, metav1.NewTime(now.Add(time.Hour)))
	if len(m.fields) > 0 || len(m.transitions) > 0 {
		t.Errorf("there is more to write: %s", m.fields)
	}
	if seen, wanted := f.digestParts(is), f.digestParts(want); m.dropped == 0 && !seen.sameAs(&wanted) {
		t.Errorf("what was written looks different: %+v, want %+v", seen, wanted)
	}
}

// after is a status with a merge patch, whose fields replace others whole.
func after(t *testing.T, status []byte, patch map[string]json.RawMessage) []byte {
	t.Helper()
	all := map[string]json.RawMessage{}
	if len(status) > 0 {
		if err := json.Unmarshal(status, &all); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range patch {
		all[name] = text
		if string(text) == "null" {
			delete(all, name)
		}
	}
	return mustEncode(all)
}

func asJSON(t *testing.T, text string) []byte {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func asYAML(t *testing.T, text []byte) []byte {
	t.Helper()
	out, err := yaml.JSONToYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
