package live

import "testing"

const theGateway = "{group: gateway.networking.k8s.io, kind: Gateway, name: web}"

// TestLoginIsRemoved: where a policy's claims are of a provider that the Gateway's policy has, the rules are closed
// when that policy goes, and the status says why.
func TestLoginIsRemoved(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("login.yaml", `
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: login, namespace: shop}
spec:
  targetRefs: [`+theGateway+`]
  jwt: {providers: [{name: real, issuer: a, jwks: {remote: {url: 'http://127.0.0.1:1/'}}}]}
`)
	s.write("team.yaml", `
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: team, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]
  authorization:
    allow: [{name: dev, matches: [{claims: [{claim: team, provider: real, type: Exact, values: [dev]}]}]}]
`)
	s.start()
	s.Ready(t)
	s.soon("GET http://shop.example/ -> 503")
	s.says("securitypolicies/shop/team", "web: Accepted=True", "web: ResolvedRefs=True")
	s.remove("login.yaml")
	s.soon("GET http://shop.example/ -> 500")
	s.says("securitypolicies/shop/team", "web: Accepted=True", "web: ResolvedRefs=False ProviderNotFound")
}
