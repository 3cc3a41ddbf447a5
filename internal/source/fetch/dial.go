package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// dialTimeout bounds the time to connect.
const dialTimeout = 5 * time.Second

// refusalError is why this program does not do what a document, or a server, asks for.
type refusalError string

func (r refusalError) Error() string { return string(r) }

// notRequestedError is why no request was made. It says nothing of what answers, so everybody may read it.
type notRequestedError struct{ refusalError }

// newClient makes a client for a document. There is one for each request: they are rare, and no connection is kept.
func (f *Fetcher) newClient(key model.FetchKey, want model.FetchSpec) (*http.Client, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: f.cfg.Reach.checkAddress, Resolver: f.resolver}
	transport := &http.Transport{
		DialContext: f.cfg.Reach.dialFunc(dialer), TLSClientConfig: &tls.Config{RootCAs: f.cfg.Roots},
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	if want.Backend != nil {
		if err := dialThroughBackend(transport, dialer, *want.Backend); err != nil {
			return nil, err
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: redirectPolicy(key)}, nil
}

// dialThroughBackend lets a client connect to a backend, whatever host it asks for.
func dialThroughBackend(t *http.Transport, dialer *net.Dialer, b model.Backend) error {
	addresses := addressesOf(b)
	switch {
	case b.TLS != nil && b.TLS.Closed != "":
		return notRequestedError{refusalError("no request can be sent to the backend: " + b.TLS.Closed)}
	case len(addresses) == 0:
		return notRequestedError{refusalError("the backend has no endpoints")}
	}
	dial := func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
		for _, address := range addresses {
			if conn, err = dialer.DialContext(ctx, network, address); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
	t.DialContext = dial
	if b.TLS == nil {
		return nil
	}
	config := backendTLS(*b.TLS)
	secure := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		own := tls.Client(conn, config)
		if err := own.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		return own, nil
	}
	// The backend says how it is spoken to, also where the URL does not say https.
	t.DialContext, t.DialTLSContext = secure, secure
	return nil
}

// addressesOf are those of a backend, the ones that get requests first.
func addressesOf(b model.Backend) (list []string) {
	if b.Hostname != "" {
		host := b.Hostname
		if b.WholeName {
			host = absoluteName(host)
		}
		return []string{net.JoinHostPort(host, strconv.Itoa(int(b.HostPort)))}
	}
	for _, e := range b.Endpoints {
		list = append(list, net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))))
	}
	return list[:min(len(list), 4)]
}

// backendTLS verifies a backend's certificate as its BackendTLSPolicy says.
func backendTLS(b model.BackendTLS) *tls.Config {
	c := &tls.Config{ServerName: b.Hostname}
	if b.CA != "" {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM([]byte(b.CA))
	}
	if len(b.Names) == 0 {
		return c
	}
	// One of the names has to be in it, in place of the host's: crypto/tls can't be told so, and leaves all to this.
	c.InsecureSkipVerify = true
	c.VerifyConnection = func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
		for _, intermediate := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(intermediate)
		}
		leaf := state.PeerCertificates[0]
		if _, err := leaf.Verify(options); err != nil {
			return &tls.CertificateVerificationError{Err: err}
		}
		if !slices.ContainsFunc(b.Names, func(n model.SubjectAltName) bool { return certificateHasName(leaf, n) }) {
			return refusalError("the backend's certificate has none of the names that its policy states")
		}
		return nil
	}
	return c
}

func certificateHasName(leaf *x509.Certificate, n model.SubjectAltName) bool {
	if !n.URI {
		return leaf.VerifyHostname(n.Value) == nil
	}
	return slices.ContainsFunc(leaf.URIs, func(u *url.URL) bool { return u.String() == n.Value })
}

// describeFailure says why a request failed, without what differs from one time to the next.
func describeFailure(err error) error {
	var (
		own         refusalError
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &dns):
		return fmt.Errorf("DNS has no address of %s", dns.Name)
	case errors.As(err, &certificate):
		return fmt.Errorf("its certificate is not accepted: %w", certificate.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("connection refused")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), strings.Contains(err.Error(),
		"timeout"):
		return errors.New("it took too long")
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("the server does not speak TLS")
	}
	return errors.New("the connection failed")
}
