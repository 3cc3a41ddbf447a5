// Package testcert makes certificates for tests and benchmarks.
//
// It owns what all of them have in common: the key, the times, the serial number, and PEM. It must never know what a
// certificate is for. Only tests and benchmarks import it.
package testcert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// Pair is a certificate and its key, in PEM.
type Pair struct {
	Certificate []byte // CERTIFICATE
	PrivateKey  []byte // PRIVATE KEY: PKCS #8
	Leaf        *x509.Certificate
	Signer      crypto.Signer
}

// New makes a certificate from a template, and a key for it. Unless the template has others, the serial number is new,
// and the certificate is valid from an hour ago for a year. Without a parent it is self-signed. It panics if the
// template is invalid.
func New(template x509.Certificate, parent *Pair) Pair {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) // fast to generate
	if template.SerialNumber == nil {
		template.SerialNumber = must(rand.Int(rand.Reader, big.NewInt(1<<62)))
	}
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	}
	if parent == nil {
		parent = &Pair{Leaf: &template, Signer: key}
	}
	der := must(x509.CreateCertificate(rand.Reader, &template, parent.Leaf, key.Public(), parent.Signer))
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		PrivateKey:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))}),
		Leaf:        must(x509.ParseCertificate(der)),
		Signer:      key,
	}
}

// ForKey makes the certificate of a public key from a template, signed by a parent, as PEM. It panics if the template
// is invalid.
func ForKey(template x509.Certificate, parent *Pair, public crypto.PublicKey) []byte {
	template.SerialNumber = must(rand.Int(rand.Reader, big.NewInt(1<<62)))
	der := must(x509.CreateCertificate(rand.Reader, &template, parent.Leaf, public, parent.Signer))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// SelfSigned makes a self-signed certificate for hosts.
func SelfSigned(hosts ...string) Pair {
	return New(x509.Certificate{Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts}, nil)
}

// NewAuthority makes a certificate that can sign others.
func NewAuthority(name string) Pair {
	return New(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
}

// NewServer makes a server's certificate for a host, signed by p.
func (p Pair) NewServer(host string) Pair {
	return New(x509.Certificate{
		Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &p)
}

// TLSCertificate is the pair for use in a tls.Config.
func (p Pair) TLSCertificate() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Leaf.Raw}, PrivateKey: p.Signer, Leaf: p.Leaf}
}

// SecretData is the pair as the data of a Secret of type kubernetes.io/tls.
func (p Pair) SecretData() map[string][]byte {
	return map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.PrivateKey}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
