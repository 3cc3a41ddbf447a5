package cli

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/policycrd"
	"cardea.dev/cardea/internal/core/schema"
)

// Each definition is a document, and kinds of policies are among them only if they have features.
func TestCRDs(t *testing.T) {
	spec := []byte(`{"type": "object"}`)
	for _, c := range []struct {
		features []*extend.UntypedFeature
		want     []string
	}{
		{nil, []string{"dataplanes.cardea.dev"}},
		{[]*extend.UntypedFeature{{Kind: extend.TrafficPolicy, Name: "a", Schema: spec},
			{Kind: extend.SecurityPolicy, Name: "example.com/b", Schema: spec}},
			[]string{"dataplanes.cardea.dev", "securitypolicies.cardea.dev", "trafficpolicies.cardea.dev"}},
	} {
		policies, err := policycrd.New(policycrd.OwnKinds(), c.features)
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

// What the controller must be permitted for a kind of another group is printed on demand; Cardea's own kinds need
// nothing besides what the manifest has.
func TestCRDsWithPermissions(t *testing.T) {
	spec := []byte(`{"type": "object"}`)
	agentic := extend.Kind{ // another project defines it
		Group: model.KindMCPBackend.Group(), Version: "v1", Name: "Other", Plural: "others", Features: extend.AtRule,
	}
	stranger := extend.Kind{
		Group: "ops.example.com", Version: "v1", Name: "OpsPolicy", Plural: "opspolicies", Features: extend.AtRule,
	}
	features := []*extend.UntypedFeature{{Kind: extend.TrafficPolicy, Name: "a", Schema: spec}}
	print := func(kinds []extend.Kind, features []*extend.UntypedFeature) string {
		t.Helper()
		policies, err := policycrd.New(kinds, features)
		if err != nil {
			t.Fatal(err)
		}
		var p Program
		for _, d := range policies {
			p.Extensions = append(p.Extensions, world.Extension{Kind: d.Declaration, Definition: d.CRD})
		}
		var out, stderr bytes.Buffer
		if code := Main(t.Context(), []string{"crds", "--rbac"}, p, &out, &stderr); code != 0 {
			t.Fatal(code, stderr.String())
		}
		return out.String()
	}
	if got := print(policycrd.OwnKinds(), features); strings.Contains(got, "ClusterRole") {
		t.Errorf("Cardea's own kinds have a role:\n%s", got)
	}
	features = append(features, &extend.UntypedFeature{Kind: "Other.agentic.networking.x-k8s.io", Name: "c", Schema: spec})
	if got := print(append(policycrd.OwnKinds(), agentic), features); strings.Contains(got, "others") {
		t.Errorf("a kind of another project is printed:\n%s", got)
	}
	features[1] = &extend.UntypedFeature{Kind: "OpsPolicy.ops.example.com", Name: "b", Schema: spec}
	_, role, _ := strings.Cut(print(append(policycrd.OwnKinds(), stranger), features), "kind: ClusterRole\n")
	for _, want := range []string{
		"- opspolicies\n  verbs:\n  - list\n  - watch\n", "- opspolicies/status\n  verbs:\n  - patch\n",
		"- opspolicies.ops.example.com\n", "kind: ClusterRoleBinding",
	} {
		if !strings.Contains(role, want) {
			t.Errorf("the role has no %q:\n%s", want, role)
		}
	}
	if strings.Contains(role, "trafficpolicies") {
		t.Errorf("the role has a kind of Cardea:\n%s", role)
	}
}

// TestPatternsOfOurKinds: each pattern that users of our kinds may meet is told in words.
func TestPatternsOfOurKinds(t *testing.T) {
	extensions, err := world.ExtensionsOf(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	if code := Main(t.Context(), []string{"crds"}, Program{Extensions: extensions}, &out, &stderr); code != 0 {
		t.Fatal(code, stderr.String())
	}
	kinds, err := os.ReadFile("../../core/kinds/crds.json")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, text := range append(strings.Split(out.String(), "---\n"), string(kinds)) {
		var document any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		for _, pattern := range patternsOf(document) {
			if n++; schema.DescribePattern(pattern) == "" {
				t.Errorf("no words for %s", pattern)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d patterns were found", n)
	}
}

// patternsOf are the patterns of a schema, and of those in it.
func patternsOf(document any) (list []string) {
	switch v := document.(type) {
	case map[string]any:
		for name, member := range v {
			if text, ok := member.(string); ok && name == "pattern" {
				list = append(list, text)
			}
			list = append(list, patternsOf(member)...)
		}
	case []any:
		for _, member := range v {
			list = append(list, patternsOf(member)...)
		}
	}
	return list
}
