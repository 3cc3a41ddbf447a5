package envoy

import (
	"testing"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestTypes: each type has a name, a list and a URL of its own, and what it awaits is sent before it.
func TestTypes(t *testing.T) {
	types := Protocol().Types
	for i, spec := range types {
		typ := resource.Type(i)
		if got, found := xdstypes.OfURL(spec.URL); !found || got != typ || spec.Name == "" || spec.List == "" {
			t.Errorf("%d: %+v", i, spec)
		}
		for _, awaited := range spec.Awaits {
			if awaited > typ {
				t.Errorf("%s awaits %s, which is sent later", spec.Name, types.Name(awaited))
			}
		}
	}
}
