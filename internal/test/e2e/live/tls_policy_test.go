package live

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/test/testcert"
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

// TestAnEditOfAPolicy: it reaches the clusters of its targets, and nothing else is sent. A certificate that backends
// are shown is rotated without any of them.
func TestAnEditOfAPolicy(t *testing.T) {
	t.Parallel()
	first, second := e2e.ClientBy(e2e.Authority(), "first"), e2e.ClientBy(e2e.Authority(), "second")
	s := prepare(t, t.TempDir(), shop())
	s.write("blue.yaml", serviceFile("blue", "tls-mutual-a")+"---\n"+serviceFile("also", "tls-mutual-b"))
	s.write("gateway.yaml", gatewayFile(80)+"  tls: {backend: {clientCertificateRef: {name: shop}}}\n")
	s.write("secret.yaml", secretFile(first.Certificate, first.PrivateKey))
	s.write("ca.yaml", authorityFile("ca", e2e.Authority().Certificate))
	s.write("policy.yaml", policyFile("blue", trustedCA)+"---\n"+policyFile("also", trustedCA))
	s.write("also.yaml", routeFile("also", "also.example", to("also")))
	s.start()
	s.Ready(t)
	s.says("gateway/shop/web", "ResolvedRefs=True ResolvedRefs")
	s.says("backendtlspolicy/shop/blue", "web: Accepted=True", "web: cardea.dev/Programmed=True")
	s.expect("GET http://shop.example/ -> 200 tls-mutual-a served-client=first")

	before := s.counters("cardea_xds_responses_total")
	s.write("policy.yaml", strings.Replace(policyFile("blue", trustedCA), "localhost", "other.ex", 1)+"---\n"+
		policyFile("also", trustedCA))
	s.soon("GET http://shop.example/ -> 503")
	s.write("policy.yaml", policyFile("blue", trustedCA)+"---\n"+policyFile("also", trustedCA))
	s.soon("GET http://shop.example/ -> 200 tls-mutual-a")
	s.says("backendtlspolicy/shop/blue", "web: cardea.dev/Programmed=True")
	if sent := s.sent(before); sent != "Cluster Endpoints" {
		t.Errorf("an edit of a policy sent %q, want Cluster and its Endpoints only", sent)
	}

	before = s.counters("cardea_xds_responses_total")
	s.write("secret.yaml", secretFile(second.Certificate, second.PrivateKey))
	e2e.Eventually(t, func() error {
		if sent := s.sent(before); sent != "Secret" {
			return fmt.Errorf("a rotated certificate sent %q, want Secret only", sent)
		}
		return nil
	})
	s.expect("GET http://also.example/ -> 200 tls-mutual-b served-client=second")
}

// TestCertificatesOfClients: an edit of who signs them drains nobody, and counts for each connection that is made from
// then on, also for who was let in before.
func TestCertificatesOfClients(t *testing.T) {
	t.Parallel()
	pair := testcert.SelfSigned("shop.example")
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", gatewayFile(80)+
		"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n"+
		"  tls: {frontend: {default: {validation: {"+trustedCA+"}}}}\n")
	s.write("secret.yaml", secretFile(pair.Certificate, pair.PrivateKey))
	s.write("ca.yaml", authorityFile("ca", e2e.Authority().Certificate))
	s.start()
	s.Ready(t)
	s.says("gateway/shop/web", "https: ResolvedRefs=True", "https: Programmed=True")
	client := func(version uint16, certificate testcert.Pair) *tls.Config {
		config := trusting("http/1.1")
		config.MinVersion, config.MaxVersion = version, version
		config.ClientSessionCache = tls.NewLRUClientSessionCache(8)
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			certificate := certificate.TLSCertificate()
			return &certificate, nil
		}
		return config
	}
	// call makes a call on a connection of its own.
	call := func(config *tls.Config) error {
		conn, err := s.dial(t.Context(), config)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := (&line{conn, bufio.NewReader(conn)}).get("shop.example"); err != nil {
			return err
		}
		if conn.(*tls.Conn).ConnectionState().DidResume {
			t.Error("a session was resumed, so the certificate was not looked at")
		}
		return nil
	}
	ours, stranger := e2e.ClientCertificate(), e2e.StrangerCertificate()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := client(version, ours)
		for range 3 {
			if err := call(config); err != nil {
				t.Fatal(err)
			}
		}
		if call(client(version, stranger)) == nil || call(trusting("http/1.1")) == nil {
			t.Error("somebody was let in without a certificate of the CA")
		}
	}
	known, open := client(tls.VersionTLS13, ours), s.line(t, client(tls.VersionTLS13, ours))
	if err := errors.Join(call(known), open.get("shop.example")); err != nil {
		t.Fatal(err)
	}
	before := s.counters("cardea_xds_responses_total")
	s.write("ca.yaml", authorityFile("ca", e2e.OtherAuthority().Certificate))
	e2e.Eventually(t, func() error { return call(client(tls.VersionTLS13, stranger)) })
	if call(known) == nil {
		t.Error("who was let in before is let in, though another CA signs now")
	}
	if err := open.get("shop.example"); err != nil {
		t.Errorf("a connection that was open: %v", err)
	}
	if sent := s.sent(before); sent != "Secret" {
		t.Errorf("another CA sent %q, want Secret only", sent)
	}

	// Without a CA the last one judges.
	s.remove("ca.yaml")
	s.says("gateway/shop/web", "https: Accepted=True", "https: ResolvedRefs=False InvalidCACertificateRef",
		"https: Programmed=True")
	if err := call(client(tls.VersionTLS13, stranger)); err != nil {
		t.Errorf("without the CA: %v", err)
	}
	if call(known) == nil || call(trusting("http/1.1")) == nil {
		t.Error("without the CA somebody else is let in")
	}
	s.expect("GET http://shop.example/ -> 200 blue")
}
