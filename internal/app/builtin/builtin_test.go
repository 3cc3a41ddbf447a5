package builtin

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/policycrd"
)

// TestDisable checks that a narrower policy can turn off, by one field, whatever a broader policy states: else there is
// no way out of an inherited setting.
func TestDisable(t *testing.T) {
	declared, err := policycrd.FromPlugins(Plugins())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range declared {
		if kind.Feature(extend.Whole) != nil {
			continue // of access policies, every level counts
		}
		names := disableable(t, kind.CRD)
		for _, f := range kind.Features {
			inherited := f.Levels&^(extend.AtExtension|extend.AtBackendRef) != 0
			if inherited && !names[f.Name] {
				t.Errorf("%s: %s can't be disabled", kind.Name, f.Name)
			}
		}
	}
}

// disableable are the features that a policy's own field disable takes, by a CustomResourceDefinition. Features may
// have a field of that name, too.
func disableable(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, v := range crd.Spec.Versions {
		items := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["disable"].Items
		if items == nil {
			t.Fatalf("%s has no list disable", crd.Name)
		}
		for _, name := range items.Schema.Enum {
			var text string
			if err := yaml.Unmarshal(name.Raw, &text); err != nil {
				t.Fatal(err)
			}
			names[text] = true
		}
	}
	return names
}
