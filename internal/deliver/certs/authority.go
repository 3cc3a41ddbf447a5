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
	metrics *metrics
	loaded  chan struct{} // closed when there is a certificate

	state, kept *state // only in Run; kept is what was written, if there is no client

	mu          sync.Mutex // guards the fields below
	signer      *authority
	certificate *tls.Certificate // of the server
	bundle      []byte
	key         []byte
	changed     chan struct{} // closed when the bundle changes
}

// New makes an Authority. It does nothing before Run.
func New(cfg Config) (*Authority, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Metrics, cfg.Purpose)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return &Authority{cfg: cfg, metrics: m, loaded: make(chan struct{}), changed: make(chan struct{})}, nil
}

// Loaded is closed when there is a certificate and a bundle.
func (a *Authority) Loaded() <-chan struct{} { return a.loaded }

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
	return signer.sign(template, public)
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
	heard, stop := a.watch(ctx)
	defer stop()
	failures := 0
	for {
		look, err := a.turn(ctx)
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

// turn brings the Secret and this replica up to date, and returns when to look again.
func (a *Authority) turn(ctx context.Context) (look time.Time, err error) {
	for {
		now := a.cfg.Clock.Now()
		stored, object, err := a.read(ctx)
		if err != nil {
			if a.state != nil { // the key is here, so the server's certificate can be renewed before it expires
				_, problem := a.adopt(a.state, now)
				err = errors.Join(err, problem)
			}
			return look, err
		}
		want, look, err := a.want(stored, now)
		if err != nil {
			return look, fmt.Errorf("make an authority: %w", err)
		}
		if want != stored {
			// The Secret is written first: it is the source of truth.
			if err := a.write(ctx, want, object); err != nil {
				return look, err
			}
			continue
		}
		renew, err := a.adopt(want, now)
		if err != nil {
			return look, fmt.Errorf("make a certificate: %w", err)
		}
		if !renew.IsZero() && renew.Before(look) {
			look = renew
		}
		return look, nil
	}
}

// want is the state to reach. It is stored itself if nothing has to change; look is when to look again.
func (a *Authority) want(stored *state, now time.Time) (want *state, look time.Time, err error) {
	if stored != nil {
		if want, look, err = advance(stored, a.cfg.Purpose, a.cfg.Times, now); err != nil {
			return nil, look, err
		}
		return want.keyed(stored), look, nil
	}
	if a.state != nil {
		return a.state, look, nil // the Secret was deleted; proxies still trust this authority
	}
	signer, err := newAuthority(a.cfg.Purpose, a.cfg.Times.Authority, now)
	return (&state{signer: signer, since: now}).keyed(nil), look, err
}

// adopt makes the state the current one, and returns when the certificate has to be renewed; zero: there is none.
func (a *Authority) adopt(s *state, now time.Time) (renew time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	leaf := a.certificate
	switch {
	case len(a.cfg.DNSNames) == 0:
	case leaf == nil || a.state == nil || !a.state.signer.cert.Equal(s.signer.cert) || !now.Before(renewal(leaf)):
		if leaf, err = s.signer.serve(a.cfg.DNSNames, a.cfg.Times.Server, now); err != nil {
			return renew, err
		}
	}
	a.state, a.signer, a.certificate, a.key = s, s.signer, leaf, s.key
	if bundle := s.bundle(); !bytes.Equal(bundle, a.bundle) {
		if a.bundle == nil {
			defer close(a.loaded)
		}
		a.bundle = bundle
		close(a.changed)
		a.changed = make(chan struct{})
	}
	if leaf == nil {
		a.metrics.show(s, nil)
		return renew, nil
	}
	a.metrics.show(s, leaf.Leaf)
	return renewal(leaf), nil
}

// renewal is the time when half of a certificate's life is over.
func renewal(c *tls.Certificate) time.Time {
	from := c.Leaf.NotBefore.Add(skew)
	return from.Add(c.Leaf.NotAfter.Sub(from) / 2)
}
