package policycrd

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	crdschema "cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/test/kubetest"
)

// policies are specs, and what an API server says of each; "" if it takes it.
var policies = map[string]struct{ kind, spec, wrong string }{
	"nothing":  {"SecurityPolicy", `{}`, ""},
	"route":    {"SecurityPolicy", `{targetRefs: [` + web + `], jwt: {providers: [{name: a}]}}`, ""},
	"rules":    {"TrafficPolicy", `{targetRefs: [` + web + `, ` + rule + `], timeouts: {request: 5s}}`, ""},
	"listener": {"ClientPolicy", `{targetRefs: [` + listener + `], strategy: PatchOverrides}`, ""},
	"service":  {"BackendPolicy", `{targetRefs: [{group: "", kind: Service, name: a, sectionName: http}]}`, ""},
	"selector": {"TrafficPolicy", `{targetSelectors: [{group: ` + gw + `, kind: HTTPRoute, matchLabels: {a: b}}]}`,
		""},
	"stranger":     {"SecurityPolicy", `{extensions: {example.com/signing: {request: 5s}}, disable: [jwt]}`, ""},
	"own kind":     {"WAFPolicy", `{targetRefs: [` + web + `], waf: {request: 5s}}`, ""},
	"twice":        {"TrafficPolicy", `{targetRefs: [` + web + `, ` + web + `]}`, "targetRefs"},
	"no such kind": {"TrafficPolicy", `{targetRefs: [{group: "", kind: Pod, name: a}]}`, "TrafficPolicy has targets"},
	"no route":     {"ClientPolicy", `{targetRefs: [` + web + `]}`, "kinds GatewayClass, Gateway"},
	"selected": {"BackendPolicy", `{targetSelectors: [{group: ` + gw + `, kind: HTTPRoute, matchLabels: {a: b}}]}`,
		"targets"},
	"no labels": {"TrafficPolicy", `{targetSelectors: [{group: ` + gw + `, kind: HTTPRoute, matchLabels: {}}]}`,
		"matchLabels"},
	"no section":    {"BackendPolicy", `{targetRefs: [` + listener + `]}`, "sectionName"},
	"strategy":      {"TrafficPolicy", `{strategy: Merge}`, "strategy"},
	"not disabled":  {"SecurityPolicy", `{disable: [cors]}`, "disable"},
	"unknown":       {"SecurityPolicy", `{cors: {}}`, "cors"},
	"unknown below": {"SecurityPolicy", `{jwt: {issuers: []}}`, "issuers"},
	"extension":     {"SecurityPolicy", `{extensions: {example.com/other: {}}}`, "other"},
	"value":         {"TrafficPolicy", `{timeouts: {request: soon}}`, "timeouts.request"},
}

const (
	gw       = `gateway.networking.k8s.io`
	web      = `{group: ` + gw + `, kind: HTTPRoute, name: web}`
	rule     = `{group: ` + gw + `, kind: HTTPRoute, name: web, sectionName: api}`
	listener = `{group: ` + gw + `, kind: Gateway, name: edge, sectionName: https}`
)

func document(kindName, name, spec string) string {
	group := "cardea.dev/v1alpha1"
	if kindName == waf.Name {
		group = "waf.example.com/v1"
	}
	return "apiVersion: " + group + "\nkind: " + kindName + "\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

// A folder's policies are checked by the definition, and a mistake names its field.
func TestAdmitted(t *testing.T) {
	var all []*kind.Kind
	for _, d := range declared(t) {
		all = append(all, d.Declaration)
	}
	s := crdschema.New(kinds.NewCatalog(all...))
	for name, c := range policies {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(document(c.kind, "p", c.spec)), &doc); err != nil {
			t.Fatal(err)
		}
		o, problems := s.Check(doc, crdschema.Options{})
		var said strings.Builder
		for _, p := range problems {
			said.WriteString(p.Field + ": " + p.Message + "\n")
		}
		if (c.wrong == "") != (said.Len() == 0) || !strings.Contains(said.String(), c.wrong) {
			t.Errorf("%s: %q, want %q", name, said.String(), c.wrong)
		}
		t.Logf("%s: %s", name, said.String())
		if c.wrong != "" {
			continue
		}
		if _, ok := o.Spec.(*input.PolicySpec); !ok {
			t.Errorf("%s: the spec is a %T", name, o.Spec)
		}
	}
}

func TestMain(m *testing.M) { kubetest.Main(m) }

// A real API server takes the definitions, whose rules must not cost too much, and says the same of policies as the
// schema does of files.
func TestAPIServer(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	for _, d := range declared(t) {
		if err := c.Apply(context.Background(), d.CRD); err != nil {
			t.Fatal(err)
		}
	}
	for name, policy := range policies {
		if strings.HasPrefix(name, "unknown") || name == "extension" {
			continue // a server takes out what it does not know, unless the client wants it strict
		}
		text := document(policy.kind, strings.ReplaceAll(name, " ", "-"), policy.spec)
		text = strings.Replace(text, "{name:", "{namespace: default, name:", 1)
		err := c.Apply(context.Background(), []byte(text))
		if (err == nil) != (policy.wrong == "") || err != nil && !strings.Contains(err.Error(), policy.wrong) {
			t.Errorf("%s: %v, want %q", name, err, policy.wrong)
		}
	}
	crds, err := c.Client.Discovery().ServerResourcesForGroupVersion("cardea.dev/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, r := range crds.APIResources {
		served = append(served, r.Name)
	}
	if want := "clientpolicies/status"; !strings.Contains(strings.Join(served, " "), want) {
		t.Errorf("served are %v, want %s among them", served, want)
	}
}
