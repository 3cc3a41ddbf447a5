package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/policycrd"
)

// withPolicies is a program with the kinds of policies of this module.
func withPolicies(t *testing.T) Program {
	t.Helper()
	policies, err := policycrd.FromPlugins(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	var p Program
	for _, k := range policies {
		p.Extensions = append(p.Extensions, world.Extension{Kind: k.Declaration, Definition: k.CRD})
	}
	p.Catalog = world.NewCatalog(p.Extensions...)
	return p
}

// The document shows what the command prints.
func TestExplainFieldOfAPolicy(t *testing.T) {
	p := withPolicies(t)
	doc, err := os.ReadFile("../../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(doc), "$ cardea explain-field trafficpolicy.spec.timeouts\n")
	shown, _, _ = strings.Cut(shown, "```\n")
	var out, stderr bytes.Buffer
	code := Main(t.Context(), []string{"explain-field", "trafficpolicy.spec.timeouts"}, p, &out, &stderr)
	if code != 0 || out.String() != shown {
		t.Errorf("got %d %s%s, want as docs/policies.md has it:\n%s", code, &out, &stderr, shown)
	}
}

// Every kind that has a schema is described; of others, the user is sent to kubectl.
func TestExplainFieldOfEveryKind(t *testing.T) {
	p := withPolicies(t)
	for _, k := range p.Catalog.All() {
		name := strings.ToLower(k.String()) + "." + k.Group()
		var out, stderr bytes.Buffer
		code := Main(t.Context(), []string{"explain-field", name + ".spec", "--recursive", "-o", "json"}, p, &out, &stderr)
		if k.Definition == nil {
			if code != 1 || !strings.Contains(stderr.String(), "kubectl explain") {
				t.Errorf("%s: got %d %s", name, code, &stderr)
			}
			continue
		}
		var page fieldPage
		if err := json.Unmarshal(out.Bytes(), &page); err != nil || code != 0 || page.Kind != k.String() ||
			page.Group != k.Group() || len(page.Field.Fields) == 0 ||
			page.Field.Description == "" && k.DefinedBy() == model.OwnOrigin {
			t.Errorf("%s: got %d %+v %v %s", name, code, page, err, &stderr)
		}
	}
}
