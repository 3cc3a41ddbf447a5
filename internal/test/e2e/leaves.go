package e2e

import (
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/policycrd"
)

// Leaves holds that files whose calls are made state each field of features, and that with another value, or none,
// something else would be rendered or found.
func (p *Plugged) Leaves(t *testing.T, paths []string, features []*extend.UntypedFeature) {
	t.Helper()
	files := p.perturbed(t, paths)
	files.rendered = true
	for _, f := range features {
		kind, _, _ := strings.Cut(f.Kind, ".")
		for _, field := range policycrd.FieldsOf(f) {
			shown := len(files.showing(t, kind, field.Path, false, 1)) + len(files.showing(t, kind, field.Path, true, 1))
			if shown == 0 {
				t.Errorf("%s, field %s: no file shows what it does: state it in a file with calls, so that with another value, "+
					"or none, something else is rendered or found", kind, field.Path)
			}
		}
	}
}
