// Package kubernetes tests `cardea get` on a real API server.
package kubernetes

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/ops/cli"
	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const objects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec: {parentRefs: [{name: web}], hostnames: [shop.example.com]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other}
spec: {parentRefs: [{name: web, namespace: shop}]}
---
apiVersion: v1
kind: Secret
metadata:
  name: key
  namespace: shop
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"tls.key":"hidden"}}'}
stringData: {tls.key: hidden}
`

// run is a command line and all that it prints.
func run(t *testing.T, words ...string) (out string, code int) {
	t.Helper()
	var b strings.Builder
	code = cli.Main(t.Context(), words, cli.Program{Catalog: kinds.NewCatalog()}, &b, &b)
	return b.String(), code
}

func TestGet(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	if err := c.InstallGatewayAPI(t.Context(), "standard"); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), []byte(objects)); err != nil {
		t.Fatal(err)
	}
	writeStatus(t, c)
	t.Setenv("KUBECONFIG", "") // whatever the one who tests has
	shop := kubeconfig(t, c, "shop", c.Config.BearerToken)
	get := func(line string) string {
		t.Helper()
		out, code := run(t, append(strings.Fields("get "+line), "--kubeconfig", c.Kubeconfig)...)
		if code != 0 {
			t.Fatalf("get %s: %d, %s", line, code, out)
		}
		return out
	}
	is := func(line, want string) {
		t.Helper()
		if out := ageless(get(line)); out != strings.TrimSpace(want) {
			t.Errorf("get %s:\n%s\nwant:\n%s", line, out, strings.TrimSpace(want))
		}
	}
	is("gc", `
NAME CONTROLLER ACCEPTED STALE AGE
cardea cardea.dev/gateway-controller Unknown False *`)
	is("httproutes -A", `
NAMESPACE NAME HOSTNAMES ACCEPTED RESOLVED PROGRAMMED STALE AGE
default other False False *
shop web shop.example.com True True True False *`)
	is("httproutes", `
NAME HOSTNAMES ACCEPTED RESOLVED PROGRAMMED STALE AGE
other False False *`)
	is("httproute web -n shop", `
NAME HOSTNAMES ACCEPTED RESOLVED PROGRAMMED STALE AGE
web shop.example.com True True True False *`)
	is("gateways -A", "No resources found.")
	if out, code := run(t, "get", "httproutes", "--kubeconfig", shop); code != 0 ||
		!strings.Contains(out, "shop.example.com") {
		t.Errorf("of the context's namespace: %d, %s", code, out)
	}

	kinds := get("")
	for _, want := range []string{"httproutes", "secrets"} {
		if !strings.Contains(kinds, "\n"+want) {
			t.Errorf("%s is not listed:\n%s", want, kinds)
		}
	}
	if strings.Contains(kinds, "dataplanes") {
		t.Errorf("a kind that is not installed:\n%s", kinds)
	}
	is("httproute web -n shop -o yaml", strings.TrimSpace(ageless(asKubectl(t, c))))

	for _, line := range []string{"secret key -n shop -o yaml", "secrets -A -o json"} {
		if out := get(line); strings.Contains(out, "hidden") || strings.Contains(out, "aGlkZGVu") ||
			!strings.Contains(out, "tls.key") {
			t.Errorf("get %s shows\n%s", line, out)
		}
	}
	many(t, c, get)
	refusals(t, c)
}

// writeStatus says of one route that it is well and of another that it is not.
func writeStatus(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	client, err := gatewayclient.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(namespace, name string, conditions ...metav1.Condition) {
		route, err := client.GatewayV1().HTTPRoutes(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range conditions {
			conditions[i].Reason, conditions[i].LastTransitionTime = "Fine", metav1.Now()
		}
		route.Status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: route.Spec.ParentRefs[0], ControllerName: "cardea.dev/gateway-controller", Conditions: conditions,
		}}
		if _, err := client.GatewayV1().HTTPRoutes(namespace).UpdateStatus(t.Context(), route,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	write("shop", "web", metav1.Condition{Type: "Accepted", Status: "True"},
		metav1.Condition{Type: "ResolvedRefs", Status: "True"},
		metav1.Condition{Type: "cardea.dev/Programmed", Status: "True"})
	write("default", "other", metav1.Condition{Type: "Accepted", Status: "False"})
}

// kubeconfig is one with a namespace in its context, and a token.
func kubeconfig(t *testing.T, c *kubetest.Cluster, namespace, token string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, context := range config.Contexts {
		context.Namespace = namespace
	}
	for _, user := range config.AuthInfos {
		user.Token = token
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// asKubectl is a route as `kubectl get -o yaml` prints it.
func asKubectl(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	client, err := gatewayclient.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	route, err := client.GatewayV1().HTTPRoutes("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	route.APIVersion, route.Kind, route.ManagedFields = "gateway.networking.k8s.io/v1", "HTTPRoute", nil
	text, err := yaml.Marshal(route)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// many gets more than a page.
func many(t *testing.T, c *kubetest.Cluster, get func(string) string) {
	t.Helper()
	const n = 1100
	for i := range n {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m", i)}}
		if _, err := c.Client.CoreV1().ConfigMaps("shop").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if rows := strings.Count(get("configmaps -n shop"), "\nm"); rows != n {
		t.Errorf("%d rows of %d objects", rows, n)
	}
	var kinds []struct {
		Kind  string
		Count int
	}
	if err := json.Unmarshal([]byte(get("-o json")), &kinds); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if k.Kind == "ConfigMap" && k.Count < n {
			t.Errorf("%d objects are counted of %d", k.Count, n)
		}
	}
}

// refusals: what can't be shown is said as kubectl says it.
func refusals(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	token, err := c.Client.CoreV1().ServiceAccounts("shop").
		CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nobody, admin := kubeconfig(t, c, "", token.Status.Token), "--kubeconfig "+c.Kubeconfig
	missing := "Error: the cluster has no dataplanes.cardea.dev: its CRD is not installed"
	for line, want := range map[string]string{
		"httproute none " + admin: `Error from server (NotFound): httproutes.gateway.networking.k8s.io "none" ` +
			"not found",
		"dataplanes " + admin:                      missing,
		"dataplane x " + admin:                     missing,
		"secrets --kubeconfig " + nobody:           "Error from server (Forbidden): secrets is forbidden",
		"httproute .. " + admin:                    `Error: ".." is not a valid name`,
		"httproute a/b/c " + admin:                 `Error: "a/b/c" is not a valid name`,
		"gc --server 127.0.0.1:1 " + admin:         "Error: --server can't be used with --kube",
		"gc --kubeconfig /none":                    "Error: find the cluster: stat /none: no such file or directory",
		"gc --context elsewhere " + admin:          `Error: find the cluster: context "elsewhere" does not exist`,
		"gc --kube --server http://127.0.0.1:9900": "Error: --server can't be used with --kube",
	} {
		if out, code := run(t, strings.Fields("get "+line)...); code != 1 || !strings.HasPrefix(out, want) {
			t.Errorf("get %s: %d, %s", line, code, out)
		}
	}
	if out, code := run(t, "get", "--kubeconfig", nobody); code != 0 || !strings.Contains(out, "forbidden") {
		t.Errorf("get: %d, %s", code, out)
	}
	// $KUBECONFIG counts with --kube only.
	t.Setenv("KUBECONFIG", c.Kubeconfig)
	if out, code := run(t, "get", "gc", "--server", "127.0.0.1:1"); code != 1 ||
		!strings.Contains(out, "no Cardea runs") {
		t.Errorf("%d, %s", code, out)
	}
	if out, code := run(t, "get", "gc", "--kube"); code != 0 || !strings.Contains(out, "cardea.dev/gateway-controller") {
		t.Errorf("%d, %s", code, out)
	}
	for line, want := range map[string]string{"httproutes -n shop --kube": "web\n", "gc --context": "testcluster\n"} {
		words := append([]string{"__complete", "get", "--kubeconfig", c.Kubeconfig}, append(strings.Fields(line), "")...)
		if out, code := run(t, words...); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("after %s: %d, %s", line, code, out)
		}
	}
	c.StopAPIServer()
	if out, code := run(t, "get", "gc", "--kubeconfig", c.Kubeconfig); code != 1 ||
		!strings.HasPrefix(out, "Error: the cluster does not answer: ") {
		t.Errorf("%d, %s", code, out)
	}
}

var ages = regexp.MustCompile(`\b[0-9]+[smhd]\b`)

// ageless is a table with one space between words, and * for ages.
func ageless(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(ages.ReplaceAllString(line, "*")), " ")
	}
	return strings.Join(lines, "\n")
}
