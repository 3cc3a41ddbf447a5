package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/policykind"
	"cardea.dev/cardea/internal/world"
)

// Each definition is a document, and kinds of policies are among them only if they have features.
func TestCRDs(t *testing.T) {
	spec := []byte(`{"type": "object"}`)
	for _, c := range []struct {
		features []*extend.Declared
		want     []string
	}{
		{nil, []string{"dataplanes.cardea.dev"}},
		{[]*extend.Declared{{Kind: extend.TrafficPolicy, Name: "a", Schema: spec},
			{Kind: extend.SecurityPolicy, Name: "example.com/b", Schema: spec}},
			[]string{"dataplanes.cardea.dev", "securitypolicies.cardea.dev", "trafficpolicies.cardea.dev"}},
	} {
		policies, err := policykind.New(policykind.Own(), c.features)
		if err != nil {
			t.Fatal(err)
		}
		var extensions []world.Extension
		for _, p := range policies {
			extensions = append(extensions, world.Extension{Kind: p.Declaration, Definition: p.CRD})
		}
		var out, stderr bytes.Buffer
		if code := Main(t.Context(), []string{"crds"}, Program{Extensions: extensions}, &out, &stderr); code != 0 {
			t.Fatal(code, stderr.String())
		}
		var names []string
		for _, text := range strings.Split(out.String(), "---\n")[1:] {
			var crd struct {
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
				t.Fatal(err)
			}
			names = append(names, crd.Metadata.Name)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("the definitions are %q, want %q", names, c.want)
		}
	}
}
