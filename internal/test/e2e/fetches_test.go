package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestHostsOfURLs: in a cluster, the URL of a key set can't name what is in it, which is refused, unless
// a backend is asked in its place; others are fetched, for the namespaces that name them. In a folder all are.
func TestHostsOfURLs(t *testing.T) {
	const policy = `
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: "%s", namespace: "%s"}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]
  jwt: {providers: [{name: p, issuer: i, jwks: {remote: {url: "%s"%s}}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: "%[2]s"}
spec: {parentRefs: [{name: a, namespace: default}], rules: [{}]}
---
apiVersion: v1
kind: Service
metadata: {name: keys, namespace: "%[2]s"}
spec: {ports: [{port: 443}]}`
	const gateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: a, namespace: default}
spec:
  gatewayClassName: cardea
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]`
	const through = ", backendRef: {name: keys, port: 443}"
	for _, c := range []struct{ url, backend, refused string }{
		{"https://login.example/keys", "", ""},
		{"https://login.example./keys", "", ""},
		{"https://keys.shop/keys", "", ""}, // looked up as it is, it is no Service
		{"https://localhost:6443/openid/v1/jwks", "", "the controller's own machine"},
		{"https://keys/keys", "", "one label only"},
		{"https://kubernetes.default.svc/openid/v1/jwks", "", "a name of the cluster (svc, corp.local)"},
		{"https://KUBERNETES.default.Svc./openid/v1/jwks", "", "a name of the cluster"},
		{"https://keys.shop.svc.corp.local/keys", "", "a name of the cluster"},
		{"https://10.96.0.1/openid/v1/jwks", "", "an IP address"},
		{"https://[fd00::1]/keys", "", "an IP address"},
		{"https://kubernetes.default。svc/keys", "", "not in ASCII"},
		{"https://keys.shop.svc/keys", through, ""}, // is only how the backend is named
		{"https://10.96.0.1/keys", through, ""},
	} {
		for _, domain := range []string{"corp.local", ""} {
			f := &faulty{t: t, World: world.New(world.Config{
				Dialects: dataplanes.All(), Extensions: Extensions(),
				Environment: model.Environment{Addresses: []string{"127.0.0.1"}, ClusterDomain: domain},
			})}
			f.Graph.Apply("start", f.Sources.MarkSynced)
			f.apply(gateway + fmt.Sprintf(policy, "first", "shop", c.url, c.backend) +
				fmt.Sprintf(policy, "second", "other", c.url, c.backend))
			refused := ""
			var namespaces []string
			for _, of := range f.Findings() {
				if of.Object.Name() == "first" && of.Condition == "Accepted" {
					refused += of.Message
				}
			}
			f.Graph.View(func(v flow.View) {
				for _, wanted := range flow.All(v, f.Plan.Fetches) {
					namespaces = append(namespaces, strings.Join(wanted.Namespaces, " "))
				}
			})
			slices.Sort(namespaces)
			says, by := c.refused, []string{"other shop"}
			switch {
			case domain == "":
				says = ""
			case says != "":
				by = nil
			}
			if c.backend != "" {
				by = []string{"other", "shop"} // each asks its own backend
			}
			if (says == "") != (refused == "") || !strings.Contains(refused, says) || !slices.Equal(namespaces, by) {
				t.Errorf("%s in %q: refused %q and wanted by %q, want %q and %q", c.url, domain, refused, namespaces, says, by)
			}
		}
	}
}
