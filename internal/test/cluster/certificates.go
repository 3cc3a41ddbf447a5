package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"

	"cardea.dev/cardea/internal/test/testcert"
)

// authority is a cluster's certificate authority. Certificates are written to a folder as NAME.crt and NAME.key.
type authority struct {
	dir string
	testcert.Pair
}

func newAuthority(dir string) (*authority, error) {
	a := &authority{dir, testcert.NewAuthority("testcluster")}
	return a, a.write("ca", a.Pair)
}

// server makes a certificate for a server at the given addresses and names.
func (a *authority) server(name string, addresses []net.IP, names ...string) error {
	return a.sign(name, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IPAddresses: addresses, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// client makes a certificate for a client.
func (a *authority) client(name string) error {
	return a.sign(name, x509.Certificate{
		Subject:  pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// sign makes a certificate and writes it.
func (a *authority) sign(name string, template x509.Certificate) error {
	return a.write(name, testcert.New(template, &a.Pair))
}

func (a *authority) write(name string, pair testcert.Pair) error {
	path := filepath.Join(a.dir, name)
	return errors.Join(os.WriteFile(path+".crt", pair.Certificate, 0o600),
		os.WriteFile(path+".key", pair.PrivateKey, 0o600))
}

// writeSigningKey makes the key that signs the service accounts' tokens.
func (a *authority) writeSigningKey(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(filepath.Join(a.dir, name+".key"), "EC PRIVATE KEY", private)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
