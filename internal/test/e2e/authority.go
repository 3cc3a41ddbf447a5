package e2e

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"embed"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"cardea.dev/cardea/internal/test/testcert"
)

// authority signs the certificates of backends and clients.
var Authority = sync.OnceValue(func() testcert.Pair { return testcert.NewAuthority("test authority") })

// backendCertificate is for localhost, and for spiffe://test/backend.
var backendCertificate = sync.OnceValue(func() testcert.Pair {
	signer := Authority()
	return testcert.New(x509.Certificate{
		Subject: pkix.Name{CommonName: "backend"}, DNSNames: []string{"localhost"},
		URIs:     []*url.URL{{Scheme: "spiffe", Host: "test", Path: "/backend"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &signer)
})

// clientCertificate is for who is called gateway.
var ClientCertificate = sync.OnceValue(func() testcert.Pair { return ClientBy(Authority(), "gateway") })

// otherAuthority signs the certificate of who is called stranger.
var OtherAuthority = sync.OnceValue(func() testcert.Pair { return testcert.NewAuthority("other authority") })

var StrangerCertificate = sync.OnceValue(func() testcert.Pair { return ClientBy(OtherAuthority(), "stranger") })

// clientBy is the certificate of a client, with a name of each kind.
func ClientBy(signer testcert.Pair, name string) testcert.Pair {
	return testcert.New(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name + ".example"},
		URIs:           []*url.URL{{Scheme: "spiffe", Host: "test", Path: "/" + name}},
		EmailAddresses: []string{name + "@example"}, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &signer)
}

//
//go:embed testdata/certificates
var certificateFiles embed.FS

// certificateText is what a placeholder of this name stands for, if that is PEM text; "crt-NAME" and "key-NAME" are
// files of testdata/certificates.
func certificateText(name string) []byte {
	switch name {
	case "ca":
		return Authority().Certificate
	case "other-ca":
		return OtherAuthority().Certificate
	case "server-cert":
		return backendCertificate().Certificate
	case "server-key":
		return backendCertificate().PrivateKey
	case "client-cert":
		return ClientCertificate().Certificate
	case "client-key":
		return ClientCertificate().PrivateKey
	}
	kind, file, _ := strings.Cut(name, "-")
	text, _ := certificateFiles.ReadFile("testdata/certificates/" + file + "." + kind)
	return text
}

// WithCertificates is a text with the certificates and keys that it names.
func WithCertificates(text []byte) []byte {
	return Placeholder.ReplaceAllFunc(text, func(name []byte) []byte {
		if text := certificateText(string(Placeholder.FindSubmatch(name)[1])); text != nil {
			return strconv.AppendQuote(nil, string(text))
		}
		return name
	})
}
