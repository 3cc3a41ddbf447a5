package schema

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// one is shared: compiling the rules of a kind takes most of a test's time.
var one = sync.OnceValue(func() *Schema {
	return New(kinds.NewCatalog())
})

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	j, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := utiljson.Unmarshal(j, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Each file in testdata holds objects (*.yaml) and, after each, what Check says (*.out). A name with "-old" is an
// object's last good version.
func TestCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { checkFile(t, file) })
	}
}

func checkFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, old := map[string]string{}, map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".out"); ok {
			want[name] = string(f.Data)
		} else if name, ok := strings.CutSuffix(f.Name, "-old.yaml"); ok {
			old[name] = string(f.Data)
		}
	}
	rewritten := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".out") {
			continue
		}
		rewritten.Files = append(rewritten.Files, f)
		name := strings.TrimSuffix(f.Name, ".yaml")
		if strings.HasSuffix(name, "-old") {
			continue
		}
		got := verdict(t, string(f.Data), old[name])
		rewritten.Files = append(rewritten.Files, txtar.File{Name: name + ".out", Data: []byte(got)})
		if diff := difference(want[name], got); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(rewritten), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func verdict(t *testing.T, text, oldText string) string {
	var options Options
	if oldText != "" {
		old, found := one().Check(parse(t, oldText), Options{})
		if old == nil {
			t.Fatal("the old object is not valid", found)
		}
		options.Old = old.Old
	}
	obj, found := one().Check(parse(t, text), options)
	var b strings.Builder
	for _, p := range found {
		fmt.Fprintf(&b, "%s: %s: %s\n", p.Severity, p.Field, p.Message)
	}
	if obj == nil {
		if b.Len() == 0 {
			t.Fatal("neither an object nor a problem")
		}
		return b.String()
	}
	spec, err := yaml.Marshal(obj.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + "ok: " + obj.Ref.String() + "\n" + string(spec)
}

const route = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web-%d, namespace: shop}
spec:
  parentRefs: [{name: gw}]
  hostnames: [web-%[1]d.example.com]
  rules:
  - matches: [{path: {value: /}}, {path: {value: /api}, headers: [{name: x, value: z}]}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}]
    backendRefs: [{name: web-%[1]d, port: 8080}]
`

// An object that is known valid comes out the same as one that was validated.
func TestKnownValid(t *testing.T) {
	text := fmt.Sprintf(route, 1)
	first, found := one().Check(parse(t, text), Options{})
	if first == nil {
		t.Fatal(found)
	}
	second, found := one().Check(parse(t, text), Options{KnownValid: true})
	if second == nil {
		t.Fatal(found)
	}
	if diff := difference(first, second); diff != "" {
		t.Fatal(diff)
	}
	if spec := first.Spec.(*gatewayv1.HTTPRouteSpec); spec.Rules[0].BackendRefs[0].Weight == nil ||
		*spec.Rules[0].BackendRefs[0].Weight != 1 {
		t.Fatal("the weight was not defaulted")
	}
}

// Every kind that is read has a schema, and many goroutines may use it.
func TestEveryKindInParallel(t *testing.T) {
	s := New(kinds.NewCatalog())
	docs := map[model.Kind]string{
		model.KindGatewayClass: "spec: {controllerName: a.example/b}",
		model.KindGateway:      "spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}",
		model.KindListenerSet:  "spec: {parentRef: {name: gw}, listeners: [{name: a, port: 80, protocol: HTTP}]}",
		model.KindHTTPRoute:    "spec: {parentRefs: [{name: gw}]}",
		model.KindGRPCRoute:    "spec: {parentRefs: [{name: gw}]}",
		model.KindTLSRoute:     "spec: {hostnames: [a.ex], rules: [{backendRefs: [{name: a, port: 1}]}]}",
		model.KindTCPRoute:     "spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: a, port: 1}]}]}",
		model.KindUDPRoute:     "spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: a, port: 1}]}]}",
		model.KindReferenceGrant: "spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: " +
			"[{group: '', kind: Service}]}",
		model.KindBackendTLSPolicy: "spec: {targetRefs: [{group: '', kind: Service, name: a}], validation: " +
			"{hostname: a.ex, wellKnownCACertificates: System}}",
		model.KindNamespace:          "",
		model.KindService:            "spec: {ports: [{port: 80}]}",
		model.KindEndpointSlice:      "addressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]",
		model.KindSecret:             "stringData: {a: b}",
		model.KindConfigMap:          "data: {a: b}",
		model.KindClusterTrustBundle: "spec: {trustBundle: abc}",
		model.KindMCPBackend:         "spec: {mcp: {serviceName: a, port: 80}}",
		model.KindDataPlane:          "spec: {replicas: 2, pod: {patch: {spec: {priorityClassName: high}}}}",
		model.KindXBackend: "spec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: " +
			"example.com}}",
		model.KindMCPBackend:         "spec: {mcp: {serviceName: tools, port: 80}}",
		model.KindInferencePool:      "spec: {selector: {matchLabels: {app: a}}, targetPorts: [{number: 8000}]}",
		model.KindInferenceObjective: "spec: {priority: 1, poolRef: {name: a}}",
		model.KindModelRewrite:       "spec: {poolRef: {name: a}, rules: [{targets: [{modelRewrite: b}]}]}",
	}
	var wait sync.WaitGroup
	for _, k := range kinds.All() {
		kind := k.Kind
		text, ok := docs[kind]
		if !ok {
			t.Errorf("no document for %s", kind)
			continue
		}
		for _, version := range listVersions(k) {
			text := "apiVersion: " + version + "\nkind: " + kind.String() + "\nmetadata: {name: a}\n" + text
			for range 2 {
				wait.Go(func() {
					obj, found := s.Check(parse(t, text), Options{})
					if obj == nil {
						t.Errorf("%s: %v", text, found)
						return
					}
					if obj.Ref.Kind() != kind || obj.Spec == nil {
						t.Errorf("%s: %v", text, obj)
					}
				})
			}
		}
	}
	wait.Wait()
}

func TestSecretData(t *testing.T) {
	text := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: aGVsbG8=, b: b2xk}\nstringData: {b: new}"
	obj, found := one().Check(parse(t, text), Options{})
	if obj == nil {
		t.Fatal(found)
	}
	want := &input.SecretSpec{Type: "Opaque", Data: map[string][]byte{"a": []byte("hello"), "b": []byte("new")}}
	if diff := difference(want, obj.Spec); diff != "" {
		t.Fatal(diff)
	}
}

// TestSecretsAreNotTold: what is wrong with a Secret is told without what it holds.
func TestSecretsAreNotTold(t *testing.T) {
	for _, field := range []string{"data: hidden", "stringData: hidden", "stringData: [hidden]", "data: {a: [hidden]}",
		"stringData: {a: {b: hidden}}", "data: {a: hidden!}"} {
		_, found := one().Check(parse(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"+field), Options{})
		if len(found) == 0 || strings.Contains(fmt.Sprint(found), "hidden") {
			t.Errorf("%s: %v", field, found)
		}
	}
}

func BenchmarkHTTPRoute(b *testing.B) {
	for name, known := range map[string]bool{"validated": false, "known": true} {
		b.Run(name, func(b *testing.B) {
			one().Check(parse(b, fmt.Sprintf(route, 0)), Options{})
			docs := make([]map[string]any, b.N)
			for i := range docs {
				docs[i] = parse(b, fmt.Sprintf(route, i))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, doc := range docs {
				if obj, found := one().Check(doc, Options{KnownValid: known}); obj == nil {
					b.Fatal(found)
				}
			}
		})
	}
}

// BenchmarkCompile is what the first HTTPRoute of a run pays.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		s := New(kinds.NewCatalog())
		if obj, found := s.Check(parse(b, fmt.Sprintf(route, 0)), Options{}); obj == nil {
			b.Fatal(found)
		}
	}
}

// An unknown kind closes its targets if all that Cardea reads of its group protects.
func TestUnknownKindOfPolicies(t *testing.T) {
	guard := *kinds.NewCatalog().FindKind(model.KindBackendTLSPolicy)
	guard.Kind = model.KindOf("policies.example", "Guard")
	s := New(kinds.NewCatalog(&guard))
	for group, closes := range map[string]bool{
		"policies.example/v1": true, "cardea.dev/v1alpha1": true, "other.example/v1": false,
		"gateway.networking.k8s.io/v1": false, "v1": false,
	} {
		for what, spec := range map[string]string{
			"":            "spec: {targetRefs: [{group: '', kind: Service, name: web}]}",
			"no spec":     "targetRefs: [{group: '', kind: Service, name: web}]",
			"no targets":  "spec: {validation: {}}",
			"a namespace": "spec: {targetRefs: [{kind: Something, name: web}]}",
		} {
			doc := parse(t, "apiVersion: "+group+"\nkind: Doorman\nmetadata: {name: a}\n"+spec)
			list := s.ClosedTargets(doc)
			if want := closes && what != "no targets" && what != "a namespace"; (len(list) > 0) != want {
				t.Errorf("%s, %s: closes %v", group, what, list)
			}
			obj, found := s.Check(doc, Options{})
			if obj != nil || len(found) != 1 || (found[0].Severity == model.Error) != closes {
				t.Errorf("%s, %s: %v", group, what, found)
			}
		}
	}
}
