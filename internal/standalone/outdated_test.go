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

	"cardea.dev/cardea/internal/testcert"
)

// A certificate that clients refuse for its dates is served, and a warning says which listener shows it.
func TestCertificatesThatAreNotValidNow(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct {
		from, to time.Time
		want     string
	}{
		"now": {now.Add(-time.Hour), now.Add(time.Hour), ""},
		"expired": {now.Add(-2 * time.Hour), now.Add(-time.Hour),
			"expired at " + now.Add(-time.Hour).Format(time.RFC3339) + " (NotAfter)"},
		"early": {now.Add(time.Hour), now.Add(2 * time.Hour),
			"is not valid before " + now.Add(time.Hour).Format(time.RFC3339) + " (NotBefore)"},
	} {
		t.Run(name, func(t *testing.T) {
			pair := testcert.New(x509.Certificate{DNSNames: []string{"a.example"}, NotBefore: c.from, NotAfter: c.to}, nil)
			good := testcert.Self("a.example")
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
			errors, err := Check(t.Context(), Options{Dir: dir, Bind: []string{"127.0.0.1"}}, &out)
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
