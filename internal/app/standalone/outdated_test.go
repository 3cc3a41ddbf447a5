package standalone

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/testcert"
)

const day = 24 * time.Hour

// A certificate that clients refuse for its dates or will soon, is served, and a warning says which listener shows it.
func TestCertificatesThatAreNotValidNow(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct {
		from, to time.Time
		want     string
	}{
		"now":        {now.Add(-68 * day), now.Add(22 * day), ""},
		"of 14 days": {now.Add(-9 * day), now.Add(5 * day), ""},
		"of 14 days, in its last third": {now.Add(-10 * day), now.Add(4*day + time.Hour),
			"expires at " + now.Add(4*day+time.Hour).Format(time.RFC3339) + " (NotAfter), in 4 days: put a new one"},
		"of 47 days": {now.Add(-31 * day), now.Add(16 * day), ""},
		"of 47 days, in its last third": {now.Add(-32 * day), now.Add(15*day + time.Hour),
			"expires at " + now.Add(15*day+time.Hour).Format(time.RFC3339) + " (NotAfter), in 15 days: put a new one"},
		"renewed every week": {now.Add(-time.Hour), now.Add(6 * day), ""},
		"soon": {now.Add(-69 * day), now.Add(21*day - time.Hour),
			"expires at " + now.Add(21*day-time.Hour).Format(time.RFC3339) + " (NotAfter), in 20 days: put a new one"},
		"a week's that nobody renewed": {now.Add(-5 * day), now.Add(day + 30*time.Minute),
			"expires at " + now.Add(day+30*time.Minute).Format(time.RFC3339) + " (NotAfter), in 24 hours: put a new one"},
		"expired": {now.Add(-2 * time.Hour), now.Add(-time.Hour),
			"expired at " + now.Add(-time.Hour).Format(time.RFC3339) + " (NotAfter)"},
		"early": {now.Add(time.Hour), now.Add(2 * time.Hour),
			"is not valid before " + now.Add(time.Hour).Format(time.RFC3339) + " (NotBefore)"},
	} {
		t.Run(name, func(t *testing.T) {
			pair := testcert.New(x509.Certificate{DNSNames: []string{"a.example"}, NotBefore: c.from, NotAfter: c.to}, nil)
			good := testcert.SelfSigned("a.example")
			dir := t.TempDir()
			text := `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: a, port: 443, protocol: HTTPS, hostname: a.example, tls: {certificateRefs: [{name: good}, {name: cert}]}}
` + secretYAML("cert", pair) + secretYAML("good", good)
			if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			errors, err := Check(t.Context(), Options{Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}}, &out)
			if err != nil || errors > 0 {
				t.Fatalf("%d errors, %v:\n%s", errors, err, &out)
			}
			const field = "warning: web.yaml:7: Gateway default/web: spec.listeners[0].tls.certificateRefs[1]: the " +
				"certificate of Secret default/cert "
			if want := field + c.want; strings.HasPrefix(out.String(), want) != (c.want != "") || c.want == "" &&
				out.String() != "no findings\n" {
				t.Errorf("%swant %q", &out, want)
			}
		})
	}
}

func secretYAML(name string, pair testcert.Pair) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ntype: kubernetes.io/tls\ndata: "+
		"{tls.crt: %s, tls.key: %s}\n", name,
		base64.StdEncoding.EncodeToString(pair.Certificate), base64.StdEncoding.EncodeToString(pair.PrivateKey))
}

// A certificate for no host of the routes is served, and a warning names both; one that is for some of them is right.
func TestCertificatesForNoHostOfRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		hostnames string // of the route
		listener  string
		names     []string
		want      string
	}{
		"another host":        {"[a.example, b.example]", "", []string{"c.example"}, "(a.example, b.example)"},
		"another domain":      {"['*.a.example']", "", []string{"*.b.example"}, "(*.a.example)"},
		"too deep for a *":    {"[x.y.a.example]", "'*.a.example'", []string{"*.a.example"}, "(x.y.a.example)"},
		"one of two hosts":    {"[a.example, b.example]", "", []string{"b.example"}, ""},
		"by a *":              {"[b.a.example]", "", []string{"*.a.example"}, ""},
		"a route without any": {"[]", "", []string{"c.example"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, hostname := t.TempDir(), ""
			if c.listener != "" {
				hostname = "hostname: " + c.listener + ", "
			}
			text := `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: a, port: 443, protocol: HTTPS, ` + hostname + `tls: {certificateRefs: [{name: cert}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: web}]
  hostnames: ` + c.hostnames + `
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example}}]}]
` + secretYAML("cert", testcert.SelfSigned(c.names...))
			if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			errors, err := Check(t.Context(), Options{Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}}, &out)
			want := "no findings\n"
			if c.want != "" {
				want = "warning: web.yaml:7: Gateway default/web: spec.listeners[0].tls.certificateRefs[0]: no certificate " +
					"here covers a host of its routes " + c.want + ", so clients reject the certificates (names: " + c.names[0] + ")"
			}
			if err != nil || errors > 0 || !strings.HasPrefix(out.String(), want) {
				t.Errorf("%d errors, %v: %swant %q", errors, err, &out, want)
			}
		})
	}
}
