package resolve

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// The extension by which a certificate asks to be served with an OCSP response, and its value.
var (
	tlsFeature = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}
	mustStaple = []byte{0x30, 3, 2, 1, 5}
)

// minRSABits is the shortest RSA key that may be served.
const minRSABits = 2048

// ReadCertificate reads a Secret of type kubernetes.io/tls. The error, for the user, says what is wrong with it.
func ReadCertificate(ref model.ObjectRef, secret *input.SecretSpec) (model.Secret, error) {
	if secret.Type != corev1.SecretTypeTLS {
		return model.Secret{}, fmt.Errorf("%s has type %q, want %q", ref, secret.Type, corev1.SecretTypeTLS)
	}
	cert, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if len(cert) == 0 || len(key) == 0 {
		return model.Secret{}, fmt.Errorf("%s needs both %s and %s", ref, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	if isEncrypted(key) {
		return model.Secret{}, fmt.Errorf("%s of %s is encrypted with a password, which Cardea can't know; replace it by "+
			"the decrypted key (openssl pkey -in %s -out plain.key)", corev1.TLSPrivateKeyKey, ref, corev1.TLSPrivateKeyKey)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return model.Secret{}, fmt.Errorf("%s is not a valid certificate and key: %w", ref, err)
	}
	if err := cmp.Or(checkServable(pair), checkComplete(cert)); err != nil {
		return model.Secret{}, fmt.Errorf("%s can't be served: %w", ref, err)
	}
	return model.Secret{Ref: ref, Certificate: cert, PrivateKey: key}, nil
}

// isEncrypted tells whether a private key (PEM) can be read by a password only: PKCS #8, or the older form with headers
// (RFC 1421).
func isEncrypted(key []byte) bool {
	for block, rest := pem.Decode(key); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
	}
	return false
}

// checkServable holds a pair against what TLS servers ask for beyond a pair that fits: a whole chain, and a key that is
// strong enough. A proxy would refuse the Secret, and nobody could tell which listener it is.
func checkServable(pair tls.Certificate) error {
	for i, der := range pair.Certificate[1:] {
		if _, err := x509.ParseCertificate(der); err != nil {
			return fmt.Errorf("certificate %d of the chain is invalid: %w", i+2, err)
		}
	}
	if slices.ContainsFunc(pair.Leaf.Extensions,
		func(e pkix.Extension) bool { return e.Id.Equal(tlsFeature) && bytes.Equal(e.Value, mustStaple) }) {
		return errors.New("it must be served with an OCSP response (must-staple), and there is none")
	}
	switch key := pair.Leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits {
			return fmt.Errorf("its RSA key has %d bits, at least %d are needed", bits, minRSABits)
		}
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P224() {
			return errors.New("its key is on the curve P-224; use P-256, P-384 or P-521")
		}
	}
	return nil
}

// checkComplete tells whether all PEM blocks of a text end. Go leaves out one that doesn't, proxies refuse it.
func checkComplete(text []byte) error {
	if last := bytes.LastIndex(text, []byte("-----BEGIN ")); last >= 0 &&
		!bytes.Contains(text[last:], []byte("-----END ")) {
		return errors.New("its last PEM block has no end")
	}
	return nil
}
