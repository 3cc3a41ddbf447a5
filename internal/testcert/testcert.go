// Package testcert makes certificates for tests and benchmarks.
//
// It owns what all of them have in common: the key, the times, the number, and PEM. It must never know what a
// certificate is for, and nothing that is shipped imports it.
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

// New makes a certificate of a template, and a key for it. The number is a fresh one and the certificate valid for the
// hour before and the year after now, unless the template says otherwise. Without a parent it signs itself. It panics
// on a template that can't be.
func New(template x509.Certificate, parent *Pair) Pair {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) // such a key is made in no time
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

// Self is a certificate for hosts that signs itself.
func Self(hosts ...string) Pair {
	return New(x509.Certificate{Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts}, nil)
}

// Authority is a certificate that may sign others.
func Authority(name string) Pair {
	return New(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
}

// Server makes a server's certificate for a host, signed by p.
func (p Pair) Server(host string) Pair {
	return New(x509.Certificate{
		Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &p)
}

// TLS is the pair as a server or client shows it.
func (p Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Leaf.Raw}, PrivateKey: p.Signer, Leaf: p.Leaf}
}

// Data is that of a Secret of type kubernetes.io/tls.
func (p Pair) Data() map[string][]byte {
	return map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.PrivateKey}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
