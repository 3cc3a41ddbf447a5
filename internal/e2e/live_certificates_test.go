package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestARotatedCertificate(t *testing.T) {
	t.Parallel()
	first, second, third := newPair(t, 1), newPair(t, 2), newPair(t, 3)
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", gatewayFile(80)+"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n")
	s.write("secret.yaml", secretFile(first.cert, first.key))
	s.start()
	s.Ready(t)
	s.says("gateway/shop/web", "https: ResolvedRefs=True", "https: Programmed=True")
	if err := s.handshake(1); err != nil {
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
	s.write("secret.yaml", secretFile(second.cert, second.key))
	Eventually(t, func() error { return s.handshake(2) })
	check("the certificate was rotated")
	s.says("gateway/shop/web", "https: Programmed=True", "Programmed=True")
	if sent := s.sent(before); sent != "Secret" {
		t.Errorf("a rotated certificate sent %q, want Secret only", sent)
	}

	// Text that no API server would have taken: the last good version serves.
	s.write("secret.yaml", strings.Replace(secretFile(third.cert, third.key), "tls.crt: ", "tls.crt: '?", 1))
	s.reads("problem in the folder", "secret.yaml", "Secret shop/shop")
	if err := s.handshake(2); err != nil {
		t.Errorf("while the file is broken: %v", err)
	}
	check("the file is broken")

	// A whole Secret that does not fit together is said, and serves nobody. The other listener goes on.
	s.write("secret.yaml", secretFile(third.cert, second.key))
	s.says("gateway/shop/web", "https: ResolvedRefs=False InvalidCertificateRef", "https: Programmed=False", "http-80: Programmed=True",
		"Accepted=True ListenersNotValid")
	Eventually(t, func() error {
		if s.handshake(2) == nil {
			return fmt.Errorf("the former certificate still serves")
		}
		return nil
	})
	s.expect("GET http://shop.example/ -> 200 blue")

	s.write("secret.yaml", secretFile(third.cert, third.key))
	Eventually(t, func() error { return s.handshake(3) })
	s.says("gateway/shop/web", "https: ResolvedRefs=True", "https: Programmed=True", "Accepted=True Accepted")
	s.expect("GET https://shop.example/ -> 200 blue certificate=shop.example")
}

// handshake connects anew and compares the certificate's serial number.
func (s *stage) handshake(serial int64) error {
	conn, err := s.dial(s.t.Context(), trusting("http/1.1"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != serial {
		return fmt.Errorf("the certificate is number %d, want %d", got, serial)
	}
	return nil
}

// trusting is a client that takes every certificate, since the tests look at them by themselves.
func trusting(protocol string) *tls.Config {
	return &tls.Config{ServerName: "shop.example", InsecureSkipVerify: true, NextProtos: []string{protocol}}
}

// pair is a certificate for shop.example and its key, in PEM.
type pair struct{ cert, key []byte }

func newPair(t testing.TB, serial int64) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "shop.example"}, DNSNames: []string{"shop.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pemOf("CERTIFICATE", cert), pemOf("PRIVATE KEY", der)}
}

func pemOf(kind string, der []byte) []byte {
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: der})
	return b.Bytes()
}

func secretFile(cert, key []byte) string {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: shop, namespace: shop}\ntype: kubernetes.io/tls\n"+
		"data:\n  tls.crt: %s\n  tls.key: %s\n",
		encode(cert), encode(key))
}
