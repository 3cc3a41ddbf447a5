package builtin

import (
	"bytes"
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/policykind"
)

// TestDisable is complaint 5 (no way out of an inherited setting): whatever a broader policy states, a narrower one can
// turn off, by one field.
func TestDisable(t *testing.T) {
	declared, err := policykind.Of(Plugins())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range declared {
		_, after, found := bytes.Cut(kind.CRD, []byte("disable:\n"))
		enum, _, ends := bytes.Cut(after, []byte("type: array\n"))
		if !found || !ends {
			t.Fatalf("%s has no list disable", kind.Name)
		}
		for _, f := range kind.Features {
			inherited := f.Levels&^(extend.AtExtension|extend.AtBackendRef) != 0
			if inherited && !bytes.Contains(enum, []byte("- "+f.Name+"\n")) {
				t.Errorf("%s: %s can't be disabled", kind.Name, f.Name)
			}
		}
	}
}
