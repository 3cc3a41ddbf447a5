package e2e

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"sync"

	"cardea.dev/cardea/internal/testcert"
)

// authority signs the certificate of backends.
var authority = sync.OnceValue(func() testcert.Pair { return testcert.Authority("test authority") })

// backendCertificate is for localhost, and for spiffe://test/backend.
var backendCertificate = sync.OnceValue(func() testcert.Pair {
	signer := authority()
	return testcert.New(x509.Certificate{
		Subject: pkix.Name{CommonName: "backend"}, DNSNames: []string{"localhost"},
		URIs:     []*url.URL{{Scheme: "spiffe", Host: "test", Path: "/backend"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &signer)
})
