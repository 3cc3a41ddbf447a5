package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	_ "k8s.io/apimachinery/pkg/api/resource" // of testdata
	_ "sigs.k8s.io/gateway-api/apis/v1"      // of testdata
)

const sample = "testdata/sample"

func schemaOf(t *testing.T, dir string) (s apiextensionsv1.JSONSchemaProps, text string) {
	t.Helper()
	b, err := generateSchema(dir, "Spec")
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, string(b)
}

// Markers say how values merge, and no default is left; what the Gateway API's rules read is there all the same.
func TestGenerate(t *testing.T) {
	s, text := schemaOf(t, sample)
	if strings.Contains(text, `"default"`) {
		t.Error("a default is left:", text)
	}
	if list := s.Properties["codes"].XListType; list == nil || *list != "set" {
		t.Error("codes are no set")
	}
	if list := s.Properties["providers"].XListType; list == nil || *list != "map" {
		t.Error("providers are no map")
	}
	keys := s.Properties["providers"].Items.Schema.Properties["keys"]
	secret, backend := keys.Properties["secretRef"], keys.Properties["backendRef"]
	for name, p := range map[string]apiextensionsv1.JSONSchemaProps{
		"keys": keys, "secretRef": secret, "backendRef": backend, "share": s.Properties["share"],
	} {
		if p.XMapType == nil || *p.XMapType != "atomic" {
			t.Errorf("%s is not atomic", name)
		}
	}
	const rule = `(size((has(self.group) ? self.group : "")) == 0 && (has(self.kind) ? self.kind : "Service") == ` +
		`'Service') ? has(self.port) : true`
	if len(backend.XValidations) == 0 || backend.XValidations[0].Rule != rule {
		t.Errorf("the rules of a reference to a backend are %+v", backend.XValidations)
	}
	const fraction = `self.numerator <= (has(self.denominator) ? self.denominator : 100)`
	if rules := s.Properties["share"].XValidations; len(rules) != 1 || rules[0].Rule != fraction {
		t.Errorf("the rules of a fraction are %+v", rules)
	}
	if d := s.Properties["timeout"].Description; len(d) <= longest || !strings.HasSuffix(d, "are kept of others.") {
		t.Errorf("a long description is %q", d)
	}
	const ofBackend = "Name is the name of the referent."
	if d := backend.Properties["name"].Description; d != ofBackend {
		t.Errorf("the description of another project's field is %q", d)
	}
	if s.Properties["timeout"].Pattern == "" || !s.Properties["size"].XIntOrString {
		t.Error("the markers of other modules' types are not there")
	}
}

func TestGenerateRefuses(t *testing.T) {
	for name, c := range map[string]struct{ dir, of, want string }{
		"a default": {"testdata/defaulted", "Spec", "Part.size has a default"},
		"no type":   {sample, "Other", "the package has no type Other"},
		"no struct": {sample, "Keys2", "no type"},
		"no folder": {"testdata/none", "Spec", "testdata/none"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := generateSchema(c.dir, c.of); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	if err := writeSchema(sample, "Spec", "schema.json", true); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "schema.json")
	cwd, err := filepath.Abs(sample)
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(cwd, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSchema(sample, "Spec", relative, true); err == nil || !strings.Contains(err.Error(), "go generate") {
		t.Error("a file that is not current passes:", err)
	}
	if err := writeSchema(sample, "Spec", relative, false); err != nil {
		t.Error(err)
	}
	if err := writeSchema(sample, "Spec", relative, true); err != nil {
		t.Error(err)
	}
}

// What is kept of a long description ends where a sentence does: not within a name, nor behind "e.g.".
func TestFirstSentences(t *testing.T) {
	rest := strings.Repeat(" and more", 30)
	for text, want := range map[string]string{
		"Short, e.g. this. And this.":           "Short, e.g. this. And this.",
		"First. Then headers.request" + rest:    "First.",
		"It takes a.b.c, e.g. one. Then" + rest: "It takes a.b.c, e.g. one.",
		"A title\n\nIts text." + rest + ".":     "A title",
		"One" + rest + ". Two.":                 "One" + rest + ".",
		"One" + rest:                            "One" + rest,
	} {
		if got := firstSentences(text); got != want {
			t.Errorf("of %q are kept %q, want %q", text, got, want)
		}
	}
}

// A feature can be a list, whose elements merge by name.
func TestGenerateList(t *testing.T) {
	s, text := schemaOf(t, "testdata/list")
	if s.Type != "array" || s.XListType == nil || *s.XListType != "map" || len(s.XListMapKeys) != 1 || s.Items == nil {
		t.Error("it is no list by name:", text)
	}
}
