package workload

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"

	"cardea.dev/cardea/internal/deliver/kube/identity"
)

// makeSVID makes a certificate of an identity, with a key of its own. trusted is the bundle as PEM.
func makeSVID(
	authority identity.Authority, id *url.URL, trusted []byte, now time.Time,
) (answer *workload.X509SVIDResponse, renewAt time.Time, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, renewAt, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, renewAt, err
	}
	wanted, renewAt := identity.CertificateTemplate(id, 0, now)
	leaf, err := authority.Sign(wanted, key.Public())
	if err != nil {
		return nil, renewAt, err
	}
	return &workload.X509SVIDResponse{Svids: []*workload.X509SVID{{
		SpiffeId: id.String(), X509Svid: leaf.Raw, X509SvidKey: secret, Bundle: derBytes(trusted),
	}}}, renewAt, nil
}

// derBytes is the certificates of a PEM text, one after the other, as the Workload API has them.
func derBytes(text []byte) (all []byte) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block.Bytes...)
	}
	return all
}
