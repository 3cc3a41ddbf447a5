package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// Config says which ledger is asked, and who asks.
type Config struct {
	URL   string // "https://ledger.example.com:8443"; the path /ledger/v1 is added
	Token string
	// TokenFile, if not "", is read for each request: tokens in files are replaced while programs run.
	TokenFile string
	CAFile    string // who signs the server's certificate; "": the machine's authorities
	Via       string // the program, in changes: "cardea ledger apply"
	// URLFlag, TokenFlag and CAFlag are how messages call the settings; "": "--ledger", "--token-file", "--ca-file".
	URLFlag, TokenFlag, CAFlag string
}

// Client is a ledger over HTTP.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client
}

var _ ledger.Ledger = (*Client)(nil)

// New makes a client. It connects to nothing yet. The errors are about the settings.
func New(c Config) (*Client, error) {
	for _, flag := range []struct {
		name *string
		is   string
	}{{&c.URLFlag, "--ledger"}, {&c.TokenFlag, "--token-file"}, {&c.CAFlag, "--ca-file"}} {
		if *flag.name == "" {
			*flag.name = flag.is
		}
	}
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, &ledger.Error{Code: ledger.Invalid, Field: c.URLFlag, Message: "is not the URL of a ledger: " + c.URL,
			Fix: "write it as https://HOST:PORT"}
	}
	c.URL = base.Redacted() // for messages
	if base.Scheme == "http" && (c.Token != "" || c.TokenFile != "") && !isLoopback(base.Hostname()) {
		return nil, &ledger.Error{Code: ledger.Invalid, Field: c.URLFlag,
			Message: "has no TLS, and others on the network would read the token: " + c.URL,
			Fix:     "write it as https://" + base.Host}
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/ledger/v1") + "/ledger/v1"
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second}
	if c.CAFile != "" {
		roots, err := ReadAuthorities(c.CAFile, c.CAFlag)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a token goes nowhere else
	return &Client{config: c, base: base, http: &http.Client{Transport: transport, CheckRedirect: refuse}}, nil
}

// ReadAuthorities reads certificate authorities from a file in PEM format. Errors are about the flag that names it.
func ReadAuthorities(file, flag string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &ledger.Error{Code: ledger.Invalid, Field: flag, Message: err.Error(), Cause: err}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, &ledger.Error{Code: ledger.Invalid, Field: flag, Message: "has no certificate: " + file,
			Fix: "name a file in PEM format"}
	}
	return roots, nil
}

// isLoopback tells whether a host is this machine: what is sent to it is on no network.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// readToken is the bearer token to send; "": none.
func (c *Client) readToken() (string, error) {
	if c.config.TokenFile == "" {
		return c.config.Token, nil
	}
	text, err := os.ReadFile(c.config.TokenFile)
	if err != nil {
		return "", &ledger.Error{Code: ledger.Unknown, Field: c.config.TokenFlag, Message: err.Error(), Cause: err}
	}
	return strings.TrimSpace(string(text)), nil
}

// unreachableError says why no answer came.
func (c *Client) unreachableError(err error) error {
	e := &ledger.Error{Code: ledger.Unavailable, Object: "ledger " + c.config.URL,
		Message: "does not answer: " + describeError(err),
		Fix:     "check that `cardea ledger serve` runs there (" + c.config.URLFlag + ")", Cause: err}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		e.Message, e.Fix = "has a certificate of an authority that is not trusted: "+describeError(err),
			"name its authority with "+c.config.CAFlag
	}
	return e
}

// describeError is an error without the method and URL, which the message has already.
func describeError(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}
