package admin

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// Credentials are what a client of the API shows, and the authorities that it trusts. The fields are names of files.
type Credentials struct {
	TokenFile        string // has the token
	CA               string // has the authorities of the server's certificate, in PEM; "": those that the machine trusts
	Certificate, Key string // the client's, in PEM
}

// OrEnvironment takes what is not stated from the environment: $CARDEA_ADMIN_TOKEN_FILE, $CARDEA_ADMIN_CA,
// $CARDEA_ADMIN_CERT and $CARDEA_ADMIN_KEY.
func (c Credentials) OrEnvironment() Credentials {
	return Credentials{
		TokenFile:   cmp.Or(c.TokenFile, os.Getenv("CARDEA_ADMIN_TOKEN_FILE")),
		CA:          cmp.Or(c.CA, os.Getenv("CARDEA_ADMIN_CA")),
		Certificate: cmp.Or(c.Certificate, os.Getenv("CARDEA_ADMIN_CERT")), Key: cmp.Or(c.Key, os.Getenv("CARDEA_ADMIN_KEY")),
	}
}

// NewClient makes a client that shows them. timeout is for a whole request; 0: none.
func (c Credentials) NewClient(timeout time.Duration) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if c.CA != "" {
		if config.RootCAs, err = readAuthorities(c.CA, "--admin-ca"); err != nil {
			return nil, err
		}
	}
	if (c.Certificate == "") != (c.Key == "") {
		return nil, errors.New("--admin-cert and --admin-key are a pair: state both or none")
	}
	if c.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
		if err != nil {
			return nil, fmt.Errorf("--admin-cert, --admin-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	// Its own transport: a proxy from the environment must not stand between us and a program on this machine.
	shows := &bearerTransport{c.TokenFile, &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}}
	// A redirect would lead elsewhere, with the token: the API has none.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Timeout: timeout, Transport: shows, CheckRedirect: noRedirect}, nil
}

// CredentialsError says why a client asked nothing: the token can't be sent.
type CredentialsError struct{ error }

// bearerTransport adds the token of a file to requests.
type bearerTransport struct {
	file string // "": none
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.file == "" {
		return b.next.RoundTrip(r)
	}
	if r.URL.Scheme != "https" && !isLoopback(r.URL.Host) {
		return nil, CredentialsError{fmt.Errorf("the token is not sent to %s without TLS; name it as https://%[1]s",
			r.URL.Host)}
	}
	text, err := os.ReadFile(b.file)
	if err != nil {
		return nil, CredentialsError{fmt.Errorf("--admin-token-file: %w", err)}
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(text)))
	return b.next.RoundTrip(r)
}
