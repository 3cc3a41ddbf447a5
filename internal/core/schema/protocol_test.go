package schema

import (
	"strings"
	"testing"
)

// A protocol that is not supported is told first: what else is wrong with its listener may follow from it.
func TestUnservedProtocolComesFirst(t *testing.T) {
	for listener, want := range map[string]string{
		"protocol: TLS": "protocol TLS is not supported; use HTTP or HTTPS",
		"protocol: TCP, hostname: a.example, tls: {mode: Terminate}": "protocol TCP is not supported; use HTTP or HTTPS",
		"protocol: HTTP, tls: {certificateRefs: [{name: a}]}":        "tls must not be specified",
	} {
		doc := parse(t, "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a}\n"+
			"spec: {gatewayClassName: cardea, listeners: [{name: a, port: 443, "+listener+"}]}")
		if _, found := one().Check(doc, Options{}); len(found) != 1 || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %v", listener, found)
		}
	}
}
