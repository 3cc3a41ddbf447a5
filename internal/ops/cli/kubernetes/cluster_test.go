package kubernetes

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/snapshot"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/ops/cli"
	"cardea.dev/cardea/internal/test/kubetest"
	"cardea.dev/cardea/internal/test/testcert"
)

const gateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - name: https
    port: 443
    protocol: HTTPS
    tls: {certificateRefs: [{name: cert}]}
`

const shopObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: shop}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---` + gateway + `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: web}]
  hostnames: [shop.example]
  rules: [{backendRefs: [{name: app, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: app-1, namespace: shop, labels: {kubernetes.io/service-name: app}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.1.2.3]}]
`

// cart is a route of which the cluster knows nothing yet; it names no namespace.
const cart = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
  parentRefs: [{name: web}]
  hostnames: [shop.example]
  rules:
  - matches: [{path: {value: /cart}}]
    backendRefs: [{name: app, port: 80}]
`

// selecting is a Service whose endpoints the cluster finds when it is applied.
const selecting = `---
apiVersion: v1
kind: Service
metadata: {name: pods}
spec: {selector: {app: pods}, ports: [{port: 80}]}
`

// reader may read routes and Gateways of the namespace shop's cluster, and no Services, Secrets and Namespaces.
const reader = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- apiGroups: [gateway.networking.k8s.io]
  resources: ["*"]
  verbs: [list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: default, namespace: shop}]
`

// place is a cluster with a shop, of which no Cardea runs.
type place struct {
	*testing.T
	admin, nobody string // kubeconfigs: of who may do all, and of the reader
}

func newPlace(t *testing.T) place {
	c := kubetest.Start(t, kubetest.Options{})
	if err := c.InstallGatewayAPI(t.Context(), "standard"); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), []byte(shopObjects+"---"+reader)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cert", "spare"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
			Data: testcert.SelfSigned("shop.example").SecretData()}
		if _, err := c.Client.CoreV1().Secrets("shop").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	token, err := c.Client.CoreV1().ServiceAccounts("shop").
		CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", "") // whatever the one who tests has
	return place{t, kubeconfig(t, c, "shop", c.Config.BearerToken), kubeconfig(t, c, "shop", token.Status.Token)}
}

// localhost is a backend that no pod may name.
const localhost = `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: near, namespace: shop}
spec: {type: ExternalHostname, port: {number: 80}, externalHostname: {hostname: localhost}}
`

// file is a file with objects.
func (p place) file(text string) string {
	p.Helper()
	path := filepath.Join(p.TempDir(), "web.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	return path
}

// says runs a command as somebody, and wants an exit code and texts; one that begins with ! must not be there.
func (p place) says(config, line string, code int, want ...string) {
	p.Helper()
	var b strings.Builder
	words := append(strings.Fields(line), "--kubeconfig", config)
	got := cli.Main(p.Context(), words, cli.Program{
		Catalog: kinds.NewCatalog(), Dialects: dataplanes.All(), Check: standalone.Check, Objects: standalone.ListObjects,
		Explainer: standalone.NewExplainer,
		Cluster:   func(ctx context.Context, o snapshot.Options) (cli.Cluster, error) { return snapshot.Open(ctx, o) },
	}, &b, &b)
	out := strings.Join(strings.Fields(b.String()), " ")
	if got != code {
		p.Errorf("%s: exit code %d, want %d:\n%s", line, got, code, b.String())
	}
	for _, text := range want {
		text, absent := strings.CutPrefix(text, "!")
		if strings.Contains(out, text) == absent {
			p.Errorf("%s:\n%s\nwant: %v %q", line, b.String(), !absent, text)
		}
	}
}

// TestClusterWithoutCardea: the commands read a cluster by themselves, with what the user may read.
func TestClusterWithoutCardea(t *testing.T) {
	p := newPlace(t)
	p.explains()
	p.diffs()
	p.checks()
	p.reads()
}

func (p place) explains() {
	p.says(p.admin, "explain http://shop.example/cart", 0, "gateway shop/web, listener http", "HTTPRoute shop/web",
		"Service shop/app port 80, endpoints that can get it: 10.1.2.3:8080", "the proxies of the cluster were not asked",
		"!Warning")
	p.says(p.admin, "explain https://shop.example/", 0, "listener https", "10.1.2.3:8080")
	p.says(p.admin, "explain httproute/web", 0, "HTTPRoute shop/web", "looks at Gateway shop/web",
		"!no resource of a proxy")
	p.says(p.admin, "explain httproute/web -n default", 1, `the cluster has no HTTPRoute "web" in namespace "default"`)
	p.says(p.admin, "explain httproute/web --server localhost:1", 1, "--server can't be used with --kube")
	p.says(p.admin, "explain httproute/web --dir .", 1, "--dir can't be used with --kube")
}

func (p place) diffs() {
	p.says(p.admin, "diff "+p.file(shopObjects), 0, "no change")
	p.says(p.admin, "diff "+p.file(cart), 1, "+ HTTPRoute shop/cart", "paths below /cart", "!refused")
	chosen := strings.ReplaceAll(cart, "name: app", "name: pods") + selecting
	p.says(p.admin, "diff "+p.file(chosen), 1, "+ Service shop/pods", "!no endpoint")
	p.says(p.admin, "diff -n default "+p.file(cart), 2, "+ HTTPRoute default/cart",
		"Gateway default/web does not exist")
	// a Secret that nothing has named so far is read, too
	p.says(p.admin, "diff "+p.file(strings.ReplaceAll(gateway, "{name: cert}", "{name: spare}")), 1,
		"~ Gateway shop/web", "!refused", "!warnings")
	p.says(p.admin, "diff "+p.file(strings.ReplaceAll(gateway, "{name: cert}", "{name: none}")), 2,
		"refused", "Secret shop/none does not exist")
}

func (p place) checks() {
	p.says(p.admin, "get findings", 0, "No findings.")
	p.says(p.admin, "check "+p.file(cart), 0, "no findings")
	chosen := strings.ReplaceAll(cart, "name: app", "name: pods") + selecting
	p.says(p.admin, "check "+p.file(chosen), 0, "no findings")
	p.says(p.admin, "check "+p.file(strings.ReplaceAll(chosen, "selector: {app: pods}, ", "")), 0,
		"warning: web.yaml:12: Service shop/pods: port 80 has no ready endpoint", "kubernetes.io/service-name: pods")
	p.says(p.admin, "check "+p.file(strings.ReplaceAll(cart, "name: app", "name: none")), 1,
		"error: web.yaml:10: HTTPRoute shop/cart: spec.rules[0].backendRefs[0]: Service shop/none does not exist")
	p.says(p.admin, "check "+p.file(strings.ReplaceAll(gateway, "{name: cert}", "{name: spare}")), 0, "no findings")
	p.says(p.admin, "check "+p.file(strings.ReplaceAll(cart, "value:", "valeu:")), 1, `did you mean "value"?`)
	// what the controller bounds, and what it knows of the cluster
	p.says(p.admin, "check --rule-routes 1 "+p.file(strings.ReplaceAll(cart, "[shop.example]", "[a.example, b.example]")),
		1, "over the budget of 1 for a rule")
	p.says(p.admin, "check "+p.file(localhost), 1, "XBackend shop/near: ")
	// what it would do to others' objects
	closed := strings.ReplaceAll(gateway, "protocol: HTTP}", "protocol: HTTP, hostname: other.example}")
	closed = strings.ReplaceAll(closed, "protocol: HTTPS", "protocol: HTTPS\n    hostname: other.example")
	p.says(p.admin, "check "+p.file(closed), 1, "HTTPRoute shop/web: ")
}

// reads: what may not be read is said of each kind, and what may be only due to that is no error.
func (p place) reads() {
	forbidden := []string{
		`Warning: services can't be read: services is forbidden: User "system:serviceaccount:shop:default"`,
		"Warning: 1 secrets that other objects refer to can't be read: secrets", "the result is as if these did not exist"}
	p.says(p.nobody, "explain http://shop.example/cart", 0, append(forbidden, "HTTPRoute shop/web")...)
	p.says(p.nobody, "diff "+p.file(cart), 1, append(forbidden, "+ HTTPRoute shop/cart", "!refused", "warnings (1)")...)
	p.says(p.nobody, "check "+p.file(cart), 0, append(forbidden, "warning: web.yaml:10: HTTPRoute shop/cart: "+
		"spec.rules[0].backendRefs[0]: Service shop/app does not exist (or it could not be read)")...)
	p.says(p.nobody, "get httproutes", 0, "shop.example")
	p.says(p.nobody, "get findings -n shop", 0, append(forbidden, "warning HTTPRoute shop/web BackendNotFound "+
		"spec.rules[0].backendRefs[0]: Service shop/app does not exist (or it could not be read)", "!error HTTPRoute",
		"!error Gateway")...)
	p.says(p.nobody, "get", 0, "httproutes", "secrets v1 Secret forbidden")
}
