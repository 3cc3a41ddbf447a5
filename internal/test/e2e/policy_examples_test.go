package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/policycrd"
	"cardea.dev/cardea/internal/test/testcert"
)

// fieldExamples has the examples of docs/policies-fields.md: a file for each feature.
const fieldExamples = "../../../docs/testdata/fields"

// fieldExample is the example of a feature.
func fieldExample(t *testing.T, kind, feature string) string {
	t.Helper()
	name := kind + "." + feature
	if feature == extend.Whole {
		name = kind
	}
	text, err := os.ReadFile(filepath.Join(fieldExamples, name+".yaml"))
	if err != nil {
		t.Errorf("the field %s of %s has no example: %v", feature, kind, err)
	}
	return string(text)
}

// besideExamples are what the examples name.
const besideExamples = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: https, port: 443, protocol: HTTPS, hostname: shop.example, tls: {certificateRefs: [{name: shop-tls}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [shop.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
---
apiVersion: v1
kind: Service
metadata: {name: standby, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: standby, namespace: shop, labels: {kubernetes.io/service-name: standby}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
---
apiVersion: v1
kind: Service
metadata: {name: authz, namespace: shop}
spec: {ports: [{port: 9001}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: authz, namespace: shop, labels: {kubernetes.io/service-name: authz}}
addressType: IPv4
ports: [{port: 9001}]
endpoints: [{addresses: [10.0.0.1]}]
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: models, namespace: shop}
spec: {selector: {matchLabels: {app: models}}, targetPorts: [{number: 8000}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: models, namespace: shop, labels: {cardea.dev/inferencepool: models}}
addressType: IPv4
ports: []
endpoints: [{addresses: [10.0.0.1]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: models, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [models.example]
  rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: models}]}]
`

// TestPolicyExamples: each example of docs/policies-fields.md states the field that it is for, and `cardea check` finds
// nothing wrong with it.
func TestPolicyExamples(t *testing.T) {
	kinds, err := policycrd.FromPlugins(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	plugged, err := Plug(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	beside := besideExamples + certificatesOfExamples(t)
	shown := map[string]bool{}
	for _, k := range kinds {
		for _, f := range k.Features {
			if k.CountsAs != nil || isNotYet(k.Name, f.Name) {
				continue
			}
			t.Run(k.Name+"/"+strings.TrimPrefix(f.Name, extend.Whole), func(t *testing.T) {
				example := fieldExample(t, k.Name, f.Name)
				var policy struct {
					Kind string
					Spec map[string]any
				}
				first, _, _ := strings.Cut(example, "\n---\n")
				if err := yaml.Unmarshal([]byte(first), &policy); err != nil {
					t.Fatal(err)
				}
				if policy.Kind != k.Name || f.Name != extend.Whole && policy.Spec[f.Name] == nil {
					t.Errorf("the example does not state %s of %s", f.Name, k.Name)
				}
				dir := t.TempDir()
				for name, text := range map[string]string{"beside.yaml": beside, "example.yaml": example} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				var found strings.Builder
				options := plugged.options(dir)
				options.Pickers = true // as `cardea check` has it
				if _, err := standalone.Check(t.Context(), options, &found); err != nil {
					t.Fatal(err)
				}
				if found.String() != "no findings\n" {
					t.Errorf("check says of %s:\n%s", example, &found)
				}
			})
			shown[k.Name+"."+f.Name+".yaml"], shown[k.Name+".yaml"] = true, true
		}
	}
	files, err := os.ReadDir(fieldExamples)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !shown[file.Name()] {
			t.Errorf("%s/%s is for no field", fieldExamples, file.Name())
		}
	}
}

// certificatesOfExamples are those that the examples name: of the host, and of whoever signs those of clients.
func certificatesOfExamples(t *testing.T) string {
	t.Helper()
	documents := []any{
		corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: "shop-tls", Namespace: "shop"},
			Type:       corev1.SecretTypeTLS, Data: testcert.SelfSigned("shop.example").SecretData(),
		},
		corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: "clients-ca", Namespace: "shop"},
			Data:       map[string]string{"ca.crt": string(testcert.NewAuthority("clients").Certificate)},
		},
	}
	var all strings.Builder
	for _, d := range documents {
		text, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(text))
	}
	return all.String()
}
