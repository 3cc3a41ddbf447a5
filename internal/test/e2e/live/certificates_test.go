package live

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/test/testcert"
)

func TestARotatedCertificate(t *testing.T) {
	t.Parallel()
	first, second, third := testcert.SelfSigned("shop.example"), testcert.SelfSigned("shop.example"),
		testcert.SelfSigned("shop.example")
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", gatewayFile(80)+
		"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n")
	s.write("secret.yaml", secretFile(first.Certificate, first.PrivateKey))
	s.start()
	s.Ready(t)
	s.says("gateway/shop/web", "https: ResolvedRefs=True", "https: Programmed=True")
	if err := s.handshake(first); err != nil {
		t.Fatal(err)
	}
	one, two := s.line(t, trusting("http/1.1")), newMultiplex(s, trusting("h2"))
	check := func(after string) {
		t.Helper()
		if err := one.get("shop.example"); err != nil {
			t.Errorf("HTTP/1.1 after %s: %v", after, err)
		}
		if err := two.get("https://shop.example/"); err != nil {
			t.Errorf("HTTP/2 after %s: %v", after, err)
		}
	}
	check("connecting")

	before := s.counters("cardea_xds_responses_total")
	s.write("secret.yaml", secretFile(second.Certificate, second.PrivateKey))
	e2e.Eventually(t, func() error { return s.handshake(second) })
	check("the certificate was rotated")
	s.says("gateway/shop/web", "https: Programmed=True", "Programmed=True")
	if sent := s.sent(before); sent != "Secret" {
		t.Errorf("a rotated certificate sent %q, want Secret only", sent)
	}

	// Text that no API server would have taken: the last good version serves.
	s.write("secret.yaml", strings.Replace(secretFile(third.Certificate, third.PrivateKey), "tls.crt: ", "tls.crt: '?", 1))
	s.reads("problem in the folder", "secret.yaml", "Secret shop/shop")
	if err := s.handshake(second); err != nil {
		t.Errorf("while the file is broken: %v", err)
	}
	check("the file is broken")

	// A whole Secret that does not fit together is said, and the last good one serves on.
	older := "the last good version stays in use until " + second.Leaf.NotAfter.UTC().Format(time.RFC3339)
	s.write("secret.yaml", secretFile(third.Certificate, second.PrivateKey))
	s.says("gateway/shop/web", "https: ResolvedRefs=False InvalidCertificateRef", "https: Programmed=True",
		"http-80: Programmed=True", "Accepted=True Accepted")
	e2e.Eventually(t, func() error { return s.finds(true, "private key does not match public key; "+older) })
	if err := s.handshake(second); err != nil {
		t.Errorf("while the key is another's: %v", err)
	}
	s.noted("gateways/shop/web", kind.StaleAnnotation, "Secret shop/shop is not a valid certificate and key")
	s.noted("secrets/shop/shop", kind.StaleAnnotation, "Secret shop/shop is not a valid certificate and key")

	// So it does when the file is moved away.
	s.remove("secret.yaml")
	s.says("gateway/shop/web", "https: ResolvedRefs=False InvalidCertificateRef: spec.listeners[1].tls.certificateRefs[0]"+
		": Secret shop/shop does not exist; the last good version stays in use", "https: Programmed=True")
	e2e.Eventually(t, func() error { return s.finds(true, "Secret shop/shop does not exist; "+older) })
	if err := s.handshake(second); err != nil {
		t.Errorf("without the Secret: %v", err)
	}
	check("the Secret was deleted")
	s.expect("GET http://shop.example/ -> 200 blue")

	s.write("secret.yaml", secretFile(third.Certificate, third.PrivateKey))
	e2e.Eventually(t, func() error { return s.handshake(third) })
	s.says("gateway/shop/web", "https: ResolvedRefs=True", "https: Programmed=True", "Accepted=True Accepted")
	s.expect("GET https://shop.example/ -> 200 blue certificate=shop.example")
}

// handshake connects anew and compares the certificate.
func (s *stage) handshake(want testcert.Pair) error {
	conn, err := s.dial(s.t.Context(), trusting("http/1.1"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]; !got.Equal(want.Leaf) {
		return fmt.Errorf("the certificate is number %d, want %d", got.SerialNumber, want.Leaf.SerialNumber)
	}
	return nil
}

// trusting is a client that takes every certificate, since the tests look at them by themselves.
func trusting(protocol string) *tls.Config {
	return &tls.Config{ServerName: "shop.example", InsecureSkipVerify: true, NextProtos: []string{protocol}}
}

func secretFile(cert, key []byte) string {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: shop, namespace: shop}\ntype: kubernetes.io/tls\n"+
		"data:\n  tls.crt: %s\n  tls.key: %s\n",
		encode(cert), encode(key))
}
