package certs

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// A failure is retried after firstRetry, and then after longer and longer waits, up to lastRetry. The waits are short,
// since proxies wait for the first certificate.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Authority signs the server's certificate and those of others, and provides the bundle of trusted certificates.
type Authority struct {
	cfg     Config
	secrets rest.Interface // nil: the keys are in memory only
	metrics *metrics
	loaded  chan struct{} // closed when there is a certificate

	state, inMemory *state // only in Run; kept is what was written, if there is no client

	mu          sync.Mutex // guards the fields below
	signer      *authority
	certificate *tls.Certificate // of the server
	bundle      []byte
	key         []byte
	changed     chan struct{} // closed when the bundle changes
}

// New makes an Authority. It does nothing before Run.
func New(cfg Config) (*Authority, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Metrics, cfg.Purpose)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	secrets, err := secretsOf(cfg.REST)
	if err != nil {
		return nil, err
	}
	return &Authority{cfg: cfg, secrets: secrets, metrics: m,
		loaded: make(chan struct{}), changed: make(chan struct{})}, nil
}

// WhenLoaded is closed when there is a certificate and a bundle.
func (a *Authority) WhenLoaded() <-chan struct{} { return a.loaded }

// Bundle returns all trusted certificates as PEM (empty before Loaded), and a channel that is closed when the text
// changes.
func (a *Authority) Bundle() ([]byte, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bundle, a.changed
}

// Key is what secrets of the proxies are derived from: random bytes that nobody else knows, the same as long as the
// Secret exists. It is empty before Loaded.
func (a *Authority) Key() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.key
}

// Sign makes the certificate of a public key by a template, with a serial number of its own. The bundle has the
// authority that signs it. An error says that the authority is not loaded yet, or ends before the certificate would.
func (a *Authority) Sign(template x509.Certificate, public crypto.PublicKey) (*x509.Certificate, error) {
	a.mu.Lock()
	signer := a.signer
	a.mu.Unlock()
	if signer == nil {
		return nil, errors.New("the authority is not loaded yet")
	}
	if template.NotAfter.After(signer.cert.NotAfter) {
		return nil, fmt.Errorf("the authority ends on %v, before the certificate would", signer.cert.NotAfter)
	}
	return signer.signCertificate(template, public)
}

// ServerConfig serves with the current certificate, over HTTP/2. A connection before Loaded is refused.
func (a *Authority) ServerConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.certificate == nil {
				return nil, errors.New("the certificate is not loaded yet")
			}
			return a.certificate, nil
		},
		SessionTicketsDisabled: true, // every connection must use the current certificate
	}
}

// Run keeps the Secret and the certificate until ctx ends. While the API server is away, the current ones stay in use.
func (a *Authority) Run(ctx context.Context) error {
	heard, stop := a.watchSecret(ctx)
	defer stop()
	failures := 0
	for {
		look, err := a.syncState(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			a.cfg.Log.Warn("an authority could not be brought up to date; retrying", "authority", a.cfg.Purpose, "error", err)
			look = a.cfg.Clock.Now().Add(min(lastRetry, firstRetry<<min(failures, 16)))
			failures++
		} else {
			failures = 0
		}
		timer := a.cfg.Clock.NewTimer(look.Sub(a.cfg.Clock.Now()))
		select {
		case <-heard:
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// syncState brings the Secret and this replica up to date, and returns when to look again.
func (a *Authority) syncState(ctx context.Context) (look time.Time, err error) {
	for {
		now := a.cfg.Clock.Now()
		stored, object, err := a.readSecret(ctx)
		if err != nil {
			if a.state != nil { // the key is here, so the server's certificate can be renewed before it expires
				_, problem := a.adoptState(a.state, now)
				err = errors.Join(err, problem)
			}
			return look, err
		}
		want, look, err := a.desiredState(stored, now)
		if err != nil {
			return look, fmt.Errorf("make an authority: %w", err)
		}
		if want != stored {
			// The Secret is written first: it is the source of truth.
			if err := a.writeSecret(ctx, want, object); err != nil {
				return look, err
			}
			continue
		}
		renew, err := a.adoptState(want, now)
		if err != nil {
			return look, fmt.Errorf("make a certificate: %w", err)
		}
		if !renew.IsZero() && renew.Before(look) {
			look = renew
		}
		return look, nil
	}
}

// desiredState is the state to reach. It is stored itself if nothing has to change; look is when to look again.
func (a *Authority) desiredState(stored *state, now time.Time) (want *state, look time.Time, err error) {
	if stored != nil {
		if want, look, err = nextState(stored, a.cfg.Purpose, a.cfg.Times, now); err != nil {
			return nil, look, err
		}
		return want.withKey(stored), look, nil
	}
	if a.state != nil {
		return a.state, look, nil // the Secret was deleted; proxies still trust this authority
	}
	signer, err := newAuthority(a.cfg.Purpose, a.cfg.Times.Authority, now)
	return (&state{signer: signer, since: now}).withKey(nil), look, err
}

// adoptState makes the state the current one, and returns when the certificate has to be renewed; zero: there is none.
func (a *Authority) adoptState(s *state, now time.Time) (renew time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	leaf := a.certificate
	switch {
	case len(a.cfg.DNSNames) == 0:
	case leaf == nil || a.state == nil || !a.state.signer.cert.Equal(s.signer.cert) || !now.Before(renewalTime(leaf)):
		if leaf, err = s.signer.issueServerCertificate(a.cfg.DNSNames, a.cfg.Times.Server, now); err != nil {
			return renew, err
		}
	}
	a.state, a.signer, a.certificate, a.key = s, s.signer, leaf, s.key
	if bundle := s.bundlePEM(); !bytes.Equal(bundle, a.bundle) {
		if a.bundle == nil {
			defer close(a.loaded)
		}
		a.bundle = bundle
		close(a.changed)
		a.changed = make(chan struct{})
	}
	if leaf == nil {
		a.metrics.recordState(s, nil)
		return renew, nil
	}
	a.metrics.recordState(s, leaf.Leaf)
	return renewalTime(leaf), nil
}

// renewalTime is the time when half of a certificate's life is over.
func renewalTime(c *tls.Certificate) time.Time {
	from := c.Leaf.NotBefore.Add(skew)
	return from.Add(c.Leaf.NotAfter.Sub(from) / 2)
}
