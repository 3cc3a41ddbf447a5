package identity

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// SignerName is the name by which pods ask for certificates, unless another one is configured.
const SignerName = "cardea.dev/identity"

// MaxLifetime is the life of a certificate for which no shorter one is asked. It is renewed after half of it.
const MaxLifetime = 24 * time.Hour

// BundleName is the name of the ClusterTrustBundle of a signer. Kubernetes wants the signer's name before it.
func BundleName(signer string) string { return strings.ReplaceAll(signer, "/", ":") + ":bundle" }

// Authority signs, and says who is trusted. certs.Authority is one.
type Authority interface {
	Sign(template x509.Certificate, public crypto.PublicKey) (*x509.Certificate, error)
	// Bundle is all trusted certificates as PEM, empty before Loaded, and a channel that is closed when they change.
	Bundle() ([]byte, <-chan struct{})
	WhenLoaded() <-chan struct{}
	// Run keeps the authority until ctx ends. It is called when a cluster serves what it is for.
	Run(ctx context.Context) error
}

// Config is what a Signer needs.
type Config struct {
	REST        *rest.Config
	Authority   Authority
	Signer      string // the name of the signer; "": SignerName
	TrustDomain string // of SPIFFE IDs, such as cluster.local
	Clock       clock.Clock
	Log         *slog.Logger          // nil: nothing is logged
	Metrics     prometheus.Registerer // nil: none
}

func (c *Config) setDefaults() error {
	if c.REST == nil || c.Authority == nil || c.TrustDomain == "" {
		return errors.New("identity: a cluster, an authority and a trust domain are needed")
	}
	if c.Signer == "" {
		c.Signer = SignerName
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
