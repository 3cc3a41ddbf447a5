package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/policycrd"
)

// TestInstallIsCurrent holds the generated files against what they are made of.
func TestInstallIsCurrent(t *testing.T) {
	for name, want := range built(t) {
		if got, err := os.ReadFile("../../deploy/" + name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("deploy/%s is not current (%v): run `make generate`", name, err)
		}
	}
}

func built(t *testing.T) map[string][]byte {
	t.Helper()
	policies, err := policycrd.FromPlugins(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	files, err := build("../../deploy", policies)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// object is what these tests look at.
type object struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec  struct{ Group string }
	Rules []struct{ Resources []string }
}

func objects(t *testing.T, text []byte) (list []object) {
	t.Helper()
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			list = append(list, o)
		}
	}
	return list
}

// TestDefinitionsAreApart: what is deleted with install.yaml is Cardea's own. A label chooses all but its CRDs,
// so that an uninstall can leave the policies.
func TestDefinitionsAreApart(t *testing.T) {
	files := built(t)
	var others []string
	for _, o := range objects(t, files[thirdPartyFile]) {
		origin := model.KindOf(o.Spec.Group, "Any").DefinedBy()
		if o.Kind != "CustomResourceDefinition" || origin != model.ThirdPartyOrigin {
			t.Errorf("%s has %s %s", thirdPartyFile, o.Kind, o.Metadata.Name)
		}
		others = append(others, o.Metadata.Name)
	}
	if want := 5; len(others) != want {
		t.Errorf("%d definitions of others, want %d: %q", len(others), want, others)
	}
	for _, o := range objects(t, files[installFile]) {
		definition := o.Kind == "CustomResourceDefinition"
		if definition && o.Spec.Group != model.KindDataPlane.Group() {
			t.Errorf("%s has the definition of another project: %s", installFile, o.Metadata.Name)
		}
		if chosen := o.Metadata.Labels["app.kubernetes.io/name"] == name; chosen == definition {
			t.Errorf("%s %s has the label app.kubernetes.io/name: %v", o.Kind, o.Metadata.Name, chosen)
		}
	}
}

// TestSecretsAreApart: whoever leaves out what has the label cardea.dev/permission=secrets gives no right to Secrets of
// other namespaces, and leaves out nothing else.
func TestSecretsAreApart(t *testing.T) {
	apart := map[string]bool{kinds.SecretsRole: true, kinds.SecretFilesRole: true}
	for _, o := range objects(t, built(t)[installFile]) {
		labelled := o.Metadata.Labels["cardea.dev/permission"] == "secrets"
		if want := o.Kind == "ClusterRoleBinding" && apart[o.Metadata.Name]; labelled != want {
			t.Errorf("%s %s has the label of the permission for Secrets: %v", o.Kind, o.Metadata.Name, labelled)
		}
		for _, rule := range o.Rules {
			if slices.Contains(rule.Resources, "secrets") && o.Kind == "ClusterRole" && !apart[o.Metadata.Name] {
				t.Errorf("ClusterRole %s permits Secrets", o.Metadata.Name)
			}
		}
	}
}

// A kind of policies that has a feature is installed, with the permission to read it and to write its status; others
// are not.
func TestPolicies(t *testing.T) {
	policies, err := policycrd.New(policycrd.OwnKinds(), []*extend.UntypedFeature{
		{Kind: extend.TrafficPolicy, Name: "a", Schema: []byte(`{"type": "object"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := build("../../deploy", policies)
	if err != nil {
		t.Fatal(err)
	}
	text := files[installFile]
	for _, want := range []string{
		"name: trafficpolicies.cardea.dev\n", "- trafficpolicies\n", "- trafficpolicies/status\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest has no %q", want)
		}
	}
	if strings.Contains(string(text), "clientpolicies") {
		t.Error("a kind without features is installed")
	}
}
