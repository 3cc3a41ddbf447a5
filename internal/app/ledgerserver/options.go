// Package ledgerserver is a roof: it joins a ledger's database, its HTTP APIs, who may ask them, and the workers of
// clusters into `cardea ledger serve`.
//
// It owns the joints, TLS and when workers run. It must never know SQL, nor how objects are applied. Run is called once
// by a command and starts every goroutine. Start reading at Run.
package ledgerserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
)

// DefaultAddr is where the API listens by default.
const DefaultAddr = "127.0.0.1:9910"

// Options say what to serve, and how.
type Options struct {
	Catalog *kind.Catalog // of the kinds that Cardea reads
	URL     string        // of the database
	KeyFile string        // that Secrets are sealed with
	Version string        // of the program

	Addr            string // host:port of the API
	TLSCert, TLSKey string // files in PEM format, read again when they change; "": no TLS
	// Plain allows HTTP without TLS on other addresses than loopback.
	Plain  bool
	Probes string // host:port of health, readiness and metrics; "": none

	OIDC *auth.OIDC // nil: no ID tokens
	// Kubernetes lets callers of a cluster be known by their tokens, and do what they may do there.
	Kubernetes                    bool
	Kubeconfig, Context, Audience string
	// KubernetesTargets are the targets that this counts for.
	KubernetesTargets []string
	// KubernetesAdmins has those administer the ledger who may do so by the cluster's RBAC.
	KubernetesAdmins bool
	// Bodies is how many bytes of requests' bodies may be in flight; 0: rest.BodiesBytes.
	Bodies int64

	// Worker names this process among those that apply to clusters; "": it applies nothing.
	Worker string

	Log      *slog.Logger
	OnListen func(addr string) // is called with the API's address; nil: not called
}

// checkOptions returns an error for options that can't be used.
func (o *Options) checkOptions() error {
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return fmt.Errorf("--listen %q: want host:port, such as %s", o.Addr, DefaultAddr)
	}
	if o.Bodies != 0 && o.Bodies < ledger.MaxBytes {
		return fmt.Errorf("--body-memory %d: want at least %d MiB, which a single change may have", o.Bodies>>20,
			ledger.MaxBytes>>20)
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return errors.New("state --tls-cert and --tls-key together")
	}
	if o.TLSCert == "" && !o.Plain && !isLoopback(host) {
		return fmt.Errorf("--listen %q: tokens and Secrets would be readable on the network: state --tls-cert and "+
			"--tls-key, or --plaintext if something in front of it has TLS", o.Addr)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
