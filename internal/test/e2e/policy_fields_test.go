package e2e

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/core/policycrd"
	"cardea.dev/cardea/internal/features/notyet"
)

// TestPolicyFields: a field of a policy stands in a file of testdata whose calls are made, and another value of it, or
// none, changes what is rendered, or is refused. Of a field that is not served yet, a finding says so. A document lists
// them all.
func TestPolicyFields(t *testing.T) {
	kinds, err := policycrd.FromPlugins(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	files := readPerturbed(t)
	files.rendered = true
	var page strings.Builder
	var notShown []string
	for _, k := range kinds {
		if k.CountsAs != nil { // its fields are another API's
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s\n", k.Name, k.Description)
		for _, f := range k.Features {
			if !isNotYet(k.Name, f.Name) {
				notShown = append(notShown, featureTable(t, &page, files, k.Name, f)...)
			}
		}
		notShown = append(notShown, notYetTable(t, &page, files, k.Name)...)
	}
	page.WriteString("\n## Fields of every policy\n\n")
	notShown = append(notShown, table(t, &page, files, "SecurityPolicy", policycrd.SharedFields(), false)...)
	page.WriteString("\n## RequestMatch\n\n" +
		"Which requests are meant: all that is stated must hold; of a list, any element.\n\n")
	notShown = append(notShown, matchTable(t, &page, files, kinds)...)
	if len(notShown) > 0 {
		t.Errorf("no file shows what these fields do: %s", strings.Join(notShown, ", "))
	}
	golden(t, "../../../docs/policies-fields.md", "<!-- written by a test: make golden -->\n", page.String())
}

// golden compares what stands in a file behind a mark, or -update writes it.
func golden(t *testing.T, path, begin, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, old, _ := strings.Cut(string(text), begin)
	switch {
	case old == want:
	case !*update:
		t.Errorf("%s is not what `make golden` writes: %s", path, want)
	default:
		if err := os.WriteFile(path, []byte(head+begin+want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func isNotYet(kind, feature string) bool {
	return slices.ContainsFunc(notyet.Fields(), func(f notyet.Field) bool { return f.Kind == kind && f.Name == feature })
}

var levelWords = []struct {
	level extend.Levels
	words string
}{
	{extend.AtRule, "GatewayClass, Gateway, listener, route, rule, extensionRef"},
	{extend.AtExtension, "extensionRef of a rule"}, {extend.AtBackendRef, "extensionRef of a backendRef"},
	{extend.AtPort, "GatewayClass, Gateway, listener; all listeners of a port share one value"},
	{extend.AtListener, "GatewayClass, Gateway, listener"}, {extend.AtBackend, "GatewayClass, Gateway, backend, port"},
	{extend.AtRuleBackend, "XBackend"}, {extend.AtPool, "InferencePool"},
}

var invalidWords = map[extend.OnInvalid]string{
	extend.Deny: "requests are answered with an error", extend.Skip: "the feature is left out",
	extend.Keep: "the field is left out",
}

// invalidOf is what becomes of requests, or of connections, if a feature can't be served.
func invalidOf(f *extend.UntypedFeature) string {
	if f.Unmerged != nil {
		return "what the policy is for is denied"
	}
	if f.OnInvalid == extend.Deny && f.Levels&(extend.AtListener|extend.AtPort) != 0 {
		return "connections are closed"
	}
	return invalidWords[f.OnInvalid]
}

// featureTable writes the table of a feature, and returns the fields that no file shows.
func featureTable(
	t *testing.T, page *strings.Builder, files *perturbed, kind string, f *extend.UntypedFeature,
) (notShown []string) {
	var at []string
	for _, l := range levelWords {
		if f.Levels.Has(l.level) {
			at = append(at, l.words)
		}
	}
	if f.Name != extend.Whole {
		fmt.Fprintf(page, "\n### %s\n", f.Name)
	}
	fmt.Fprintf(page, "\nStated at: %s. What can't be served (%s): %s.\n\n", strings.Join(at, "; "), f.OnInvalid,
		invalidOf(f))
	if f.Name != extend.Whole {
		page.WriteString(policycrd.DescribeFeature(f) + "\n\n")
	}
	notShown = table(t, page, files, kind, policycrd.FieldsOf(f), false)
	page.WriteString("\nFor example:\n\n```yaml\n" + fieldExample(t, kind, f.Name) + "```\n")
	return notShown
}

func notYetTable(t *testing.T, page *strings.Builder, files *perturbed, kind string) (notShown []string) {
	var fields []policycrd.Field
	for _, f := range notyet.Fields() {
		if f.Kind == kind {
			fields = append(fields, policycrd.Field{
				Path: f.Name, Description: fmt.Sprintf("Not supported yet: what %s.", f.Does), Merges: string(f.OnInvalid),
			})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	page.WriteString("\n### Not yet\n\nA policy that states one is told so in its status.\n\n")
	return table(t, page, files, kind, fields, true)
}

// matchTable lists the fields of matches. One that a file shows anywhere is the same everywhere.
func matchTable(
	t *testing.T, page *strings.Builder, files *perturbed, kinds []*policycrd.PolicyKind,
) (notShown []string) {
	page.WriteString("| field | what it is | for example |\n|---|---|---|\n")
	for _, f := range policycrd.MatchFields(kinds) {
		link := ""
		for _, k := range kinds {
			for _, feature := range k.Features {
				for _, in := range policycrd.FieldsOf(feature) {
					if !in.Match || link != "" {
						continue
					}
					for _, name := range files.showing(t, k.Name, in.Path+"."+f.Path, false, 1) {
						link = fmt.Sprintf("[%s](../internal/test/e2e/testdata/%s.txtar)", name, name)
					}
				}
			}
		}
		if link == "" {
			notShown = append(notShown, "RequestMatch "+f.Path)
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", f.Path, strings.ReplaceAll(f.Description, "|", "\\|"), link)
	}
	return notShown
}

// table lists fields, and returns those that no file shows. The parts of a reference are one row.
func table(
	t *testing.T, page *strings.Builder, files *perturbed, kind string, fields []policycrd.Field, refused bool,
) (notShown []string) {
	page.WriteString("| field | what it is | merges | for example |\n|---|---|---|---|\n")
	of := ""
	for _, f := range fields {
		links := files.showing(t, kind, f.Path, refused, 1)
		if len(links) == 0 {
			notShown = append(notShown, kind+" "+f.Path)
			continue
		}
		if f.Of != "" && f.Of == of {
			continue
		}
		of = f.Of
		fmt.Fprintf(page, "| `%s` | %s | %s | [%s](../internal/test/e2e/testdata/%[4]s.txtar) |\n", cmp.Or(f.Of, f.Path),
			strings.ReplaceAll(f.Description, "|", "\\|"), f.Merges, links[0])
	}
	return notShown
}
