package standalone

import (
	"slices"
	"testing"
)

// What a shell offers can be asked for, each alone.
func TestGateways(t *testing.T) {
	for dir, want := range map[string][]string{
		"../../../examples/quickstart":    {"quickstart/quickstart"},
		"../../../docs/testdata/mistakes": {"default/web"},
		"../../examples/demo/not/there":   nil,
	} {
		o := Options{Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}}
		names, err := ListGateways(t.Context(), o)
		if !slices.Equal(names, want) || (err != nil) != (want == nil) {
			t.Errorf("%s: %v, %v", dir, names, err)
		}
		for _, name := range names {
			if err := Translate(t.Context(), o, name, "json", t.Output()); err != nil {
				t.Error(err)
			}
		}
	}
}
