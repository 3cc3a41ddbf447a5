package e2e

import (
	"os"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
)

// TestFields: every field of a kind stands in a file of testdata whose calls are made, in an object that is served, and
// with another value, or none, a call would be answered otherwise. Of a field that is refused, something else would be
// found. A document says so.
func TestFields(t *testing.T) {
	files := readPerturbed(t)
	for _, k := range kinds.All() {
		if k.Page == nil {
			continue
		}
		table, err := k.FieldTable(func(field string, refused bool) (shown []kind.Example) {
			for _, name := range files.showing(t, k.String(), field, refused, 2) {
				shown = append(shown, kind.Example{Name: name, Path: "../internal/test/e2e/testdata/" + name + ".txtar"})
			}
			return shown
		})
		if err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile("../../../" + k.Page.Path)
		if err != nil {
			t.Fatal(err)
		}
		head, old, _ := strings.Cut(string(text), "| field |")
		switch {
		case "| field |"+old == table:
		case !*update:
			t.Fatalf("%s is not what `make golden` writes", k.Page.Path)
		default:
			if err := os.WriteFile("../../../"+k.Page.Path, []byte(head+table), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
