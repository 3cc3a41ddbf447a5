package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const connectionObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: wires}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: tcp, port: 9000, protocol: TCP}
  - {name: udp, port: 9000, protocol: UDP}
  - {name: tls, port: 443, protocol: TLS, hostname: "*.ex", tls: {mode: Passthrough}}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: other}
spec: {type: ExternalHostname, port: {number: 4000}, externalHostname: {hostname: localhost}}
`

// connectionRoute is a route of a kind for connections to a backend; hostnames may be "".
func connectionRoute(kind, name, section, hostnames, backend string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: %s}
spec:
  parentRefs: [{name: wires, sectionName: %s}]
  %s
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: %s}]}]
`, kind, name, section, hostnames, backend)
}

// TestConnections: an edit of a route's backends moves connections to come, and ends none. One that takes a listener's
// domain away ends its connections.
func TestConnections(t *testing.T) {
	app := []string{
		connectionRoute("TCPRoute", "a", "tcp", "", "app"), connectionRoute("UDPRoute", "a", "udp", "", "app"),
		connectionRoute("TLSRoute", "a", "tls", "hostnames: [a.ex, b.ex]", "app"),
	}
	r := newRig(t, append(app, connectionObjects)...)
	report := r.diff(false, connectionRoute("TCPRoute", "a", "tcp", "", "other"),
		connectionRoute("TLSRoute", "a", "tls", "hostnames: [a.ex, b.ex]", "other"))
	const was, is = "XBackend default/app", "XBackend default/other"
	var texts []string
	for _, c := range report.Connections {
		texts = append(texts, c.Request)
		if c.Before != was || c.After != is {
			t.Errorf("%s: before %q, after %q", c.Request, c.Before, c.After)
		}
	}
	if want := []string{"tcp://127.0.0.1:9000", "tls://a.ex:443", "tls://b.ex:443"}; !slices.Equal(texts, want) ||
		len(report.Ends) > 0 {
		t.Errorf("connections are %q, want %q; %q end", texts, want, report.Ends)
	}
	report = r.diff(false, connectionRoute("TLSRoute", "a", "tls", "hostnames: [a.ex]", "app"))
	if len(report.Connections) != 1 || report.Connections[0].Request != "tls://b.ex:443" ||
		!strings.HasPrefix(report.Connections[0].After, "closed: ") {
		t.Errorf("connections are %v", report.Connections)
	}
	if want := []string{"default/wires: open connections of listener tls (port 443, b.ex)"}; !slices.Equal(report.Ends,
		want) {
		t.Errorf("%q end, want %q", report.Ends, want)
	}
	report = r.diff(false, strings.ReplaceAll(connectionObjects, "9000", "9001"))
	if want := []string{"default/wires: all sessions of listener udp (port 9000)",
		"default/wires: open connections of listener tcp (port 9000)"}; !slices.Equal(report.Ends, want) {
		t.Errorf("%q end, want %q", report.Ends, want)
	}
	if len(report.Connections) != 4 { // two ports come, and two leave
		t.Errorf("connections are %v", report.Connections)
	}
	var text strings.Builder
	tls := r.diff(false, strings.ReplaceAll(connectionObjects, "443", "444"))
	if len(tls.Connections) < 4 {
		t.Errorf("connections are %v", tls.Connections)
	}
	if err := report.Print(&text); err != nil || !strings.Contains(text.String(), "the proxies would end (2)") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestConnectionsOfPolicies: a policy that closes connections, or takes those of some clients, is shown by a connection
// to each listener that it concerns; one that comes for a backend, by those to the backend.
func TestConnectionsOfPolicies(t *testing.T) {
	r := newRig(t, connectionRoute("TCPRoute", "a", "tcp", "", "app"), connectionRoute("UDPRoute", "a", "udp", "", "app"),
		connectionRoute("TLSRoute", "a", "tls", "hostnames: [a.ex]", "app"), connectionObjects)
	on := func(target, rules string) string {
		return "\napiVersion: cardea.dev/v1alpha1\nkind: SecurityPolicy\nmetadata: {name: p}\nspec:\n" +
			"  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: wires" + target + "}]\n  " + rules + "\n"
	}
	const office = "authorization: {allow: [{name: office, matches: [{clientCIDRs: [10.0.0.0/8]}]}]}"
	for _, c := range []struct {
		edit string
		want []string
	}{
		{on("", "basicAuth: {usersRef: {name: users}}"),
			[]string{"tcp://127.0.0.1:9000", "tls://a.ex:443", "udp://127.0.0.1:9000"}},
		{on(", sectionName: tcp", office), []string{"tcp://127.0.0.1:9000 --client 192.0.2.1"}},
		{on(", sectionName: udp", office), []string{"udp://127.0.0.1:9000 --client 192.0.2.1"}},
		{on(", sectionName: tls", office), []string{"tls://a.ex:443 --client 192.0.2.1"}},
	} {
		var texts []string
		report := r.diff(false, c.edit)
		for _, n := range report.Connections {
			texts = append(texts, n.Request)
			if !strings.HasPrefix(n.After, "closed: ") {
				t.Errorf("%s: after %q", n.Request, n.After)
			}
		}
		if !slices.Equal(texts, c.want) {
			t.Errorf("%s: connections are %q, want %q", c.edit, texts, c.want)
		}
	}
}
