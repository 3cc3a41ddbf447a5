package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"sync"
	"time"
)

// signed is an authority, and a certificate that it signed: for localhost, and for spiffe://test/backend.
type signed struct {
	pem         string // the authority's
	certificate tls.Certificate
}

var authority = sync.OnceValue(func() signed {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	parent := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "backend"}, NotAfter: parent.NotAfter, DNSNames: []string{"localhost"},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "test", Path: "/backend"}}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	sign := func(c *x509.Certificate) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), key)
		if err != nil {
			panic(err)
		}
		return der
	}
	return signed{
		pem:         string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sign(parent)})),
		certificate: tls.Certificate{Certificate: [][]byte{sign(leaf)}, PrivateKey: key},
	}
})
