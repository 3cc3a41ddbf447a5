package resolve

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/testcert"
)

func TestCertificate(t *testing.T) {
	first, other := testcert.SelfSigned("a.ex"), testcert.SelfSigned("a.ex")
	certificate, key, otherKey := first.Certificate, first.PrivateKey, other.PrivateKey
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})
	stapled := testcert.New(x509.Certificate{ExtraExtensions: []pkix.Extension{{Id: tlsFeature, Value: mustStaple}}}, nil)
	ref := model.Ref(model.KindSecret, "default", "cert")
	for _, c := range []struct {
		about   string
		kind    corev1.SecretType
		crt     []byte
		key     []byte
		problem string // "" is a good one
	}{
		{"good", corev1.SecretTypeTLS, certificate, key, ""},
		{"a chain", corev1.SecretTypeTLS, append(certificate[:len(certificate):len(certificate)], certificate...), key, ""},
		{"a chain with a broken end", corev1.SecretTypeTLS,
			append(certificate[:len(certificate):len(certificate)], broken...), key,
			"certificate 2 of the chain is invalid"},
		{"a chain that is cut off", corev1.SecretTypeTLS,
			append(certificate[:len(certificate):len(certificate)], certificate[:100]...), key,
			"its last PEM block has no end"},
		{"text around", corev1.SecretTypeTLS, append(append([]byte("subject=a\n"), certificate...), "the end\n"...), key, ""},
		{"to be stapled", corev1.SecretTypeTLS, stapled.Certificate, stapled.PrivateKey, "an OCSP response"},
		{"another type", corev1.SecretTypeOpaque, certificate, key, `has type "Opaque"`},
		{"no key", corev1.SecretTypeTLS, certificate, nil, "needs both tls.crt and tls.key"},
		{"no certificate", corev1.SecretTypeTLS, nil, key, "needs both tls.crt and tls.key"},
		{"another's key", corev1.SecretTypeTLS, certificate, otherKey, "private key does not match"},
		{"a key with a password", corev1.SecretTypeTLS, certificate,
			pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), "is encrypted with a password"},
		{"a key with a password, in the older form", corev1.SecretTypeTLS, certificate,
			pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{
				"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte("x")}), "is encrypted with a password"},
		{"a broken key", corev1.SecretTypeTLS, certificate,
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), "is not a valid certificate and key"},
		{"exchanged", corev1.SecretTypeTLS, key, certificate, "is not a valid certificate and key"},
		{"no PEM", corev1.SecretTypeTLS, []byte("a"), []byte("b"), "is not a valid certificate and key"},
	} {
		got, err := ReadCertificate(ref, &input.SecretSpec{Type: c.kind,
			Data: map[string][]byte{"tls.crt": c.crt, "tls.key": c.key}})
		switch {
		case c.problem == "" && (err != nil || got.Ref != ref || len(got.Certificate) == 0 || len(got.PrivateKey) == 0):
			t.Errorf("%s: %v, %v", c.about, got.Ref, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: error %v, want %q", c.about, err, c.problem)
		case err != nil && strings.Contains(err.Error(), string(c.key)) && len(c.key) > 1:
			t.Errorf("%s: the error shows the key", c.about)
		}
	}
}
