package e2e

import (
	"fmt"
	"strconv"
	"testing"
)

// policyFile is a BackendTLSPolicy for a Service.
func policyFile(service, validation string) string {
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, "+
		"metadata: {name: %s, namespace: shop}, spec: {targetRefs: [{group: '', kind: Service, name: %[1]s}], "+
		"validation: {hostname: localhost, %s}}}\n", service, validation)
}

// authorityFile is a ConfigMap with a CA.
func authorityFile(name string, ca []byte) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: shop}, data: {ca.crt: %s}}\n",
		name, strconv.Quote(string(ca)))
}

const trustedCA = "caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}]"

// TestAPolicyThatAProxyRefuses: what was sent in plain text before the policy is not sent so any more, though the proxy
// refuses what the policy says.
func TestAPolicyThatAProxyRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), envoyAt(withoutAuthorities(t)))
	s.expect("GET http://shop.example/ -> 200 blue")
	s.write("policy.yaml", policyFile("blue", "wellKnownCACertificates: System"))
	s.says("backendtlspolicy/shop/blue", "web: cardea.dev/Programmed=False RejectedByProxy: Error adding")
	s.says("httproute/shop/web", rejected+": Service shop/blue: Error adding")
	s.soon("GET http://shop.example/ -> 503")
	s.write("policy.yaml", "")
	s.soon("GET http://shop.example/ -> 200 blue")
	s.says("httproute/shop/web", "web: cardea.dev/Programmed=True")
}
