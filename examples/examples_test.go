package examples

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/test/e2e"
)

func TestEveryExampleStatesItsCalls(t *testing.T) {
	gateways, err := filepath.Glob("*/gateway*.yaml")
	if err != nil || len(gateways) < 6 {
		t.Fatalf("found %d examples (%v), want 6 at least", len(gateways), err)
	}
	for _, path := range gateways {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "run.sh")); err == nil {
			continue // which makes its calls itself
		}
		list, err := calls.ParseFile(filepath.Join(filepath.Dir(path), "calls.txt"))
		if err != nil || len(list) == 0 {
			t.Errorf("%s: %d calls, %v", filepath.Dir(path), len(list), err)
		}
	}
}

func TestEveryObjectIsOneThatAnAPIServerWouldTake(t *testing.T) {
	s := schema.New(world.NewCatalog(e2e.Extensions()...))
	files, err := filepath.Glob("*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files (%v)", len(files), err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
		for n := 1; ; n++ {
			var doc unstructured
			if err := documents.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: document %d: %v", path, n, err)
			}
			if doc == nil {
				continue // only comments
			}
			if filepath.Dir(path) == "kubernetes" && slices.Contains([]any{"Deployment", "Job", "ServiceAccount"}, doc["kind"]) {
				continue // what runs behind a Gateway is the cluster's matter, and tested there
			}
			if _, problems := s.Check(doc, schema.Options{}); len(problems) > 0 {
				t.Errorf("%s: document %d: %+v", path, n, problems)
			}
		}
	}
}

// unstructured is a document whose whole numbers are int64, as an API server reads them.
type unstructured map[string]any

func (u *unstructured) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*map[string]any)(u))
}
