package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/certfile"
)

// Access says who may ask the API. Nothing stated: the programs of this machine. The fields are names of files.
type Access struct {
	TokenFile string // has the token that callers send, as "Authorization: Bearer TOKEN"; it is read at each request
	// ClientCA has, in PEM, the authorities of the certificates that callers show; it is read at each handshake.
	ClientCA string
	// Certificate and Key are the server's, in PEM; they are read again when they change. "": the API has no TLS.
	Certificate, Key string
}

// minTokenLength is how many characters a token has at least: 128 bits in base64.
const minTokenLength = 22

// requiresIdentity tells whether callers must identify themselves.
func (a Access) requiresIdentity() bool { return a.TokenFile != "" || a.ClientCA != "" }

// Check returns an error that says what to state if an API at an address would be open to others than this machine's
// programs, or if files can't be used.
func (a Access) Check(addr string) error {
	switch host, port, err := net.SplitHostPort(addr); {
	case err != nil:
		return fmt.Errorf("--admin %q: want host:port, such as %s", addr, DefaultAddr)
	case (a.Certificate == "") != (a.Key == ""):
		return errors.New("--admin-tls-cert and --admin-tls-key are a pair: state both or none")
	case a.ClientCA != "" && a.Certificate == "":
		return errors.New("--admin-client-ca: certificates are shown by TLS only; state --admin-tls-cert and " +
			"--admin-tls-key, too")
	case !isLoopback(host):
		if err := a.checkRemote(addr, port); err != nil {
			return err
		}
	}
	if a.TokenFile != "" {
		if _, err := a.readToken(); err != nil {
			return err
		}
	}
	_, err := a.tlsConfig()
	return err
}

// checkRemote returns an error if an API that others reach is not for some of them only.
func (a Access) checkRemote(addr, port string) error {
	if a.requiresIdentity() && a.Certificate != "" {
		return nil
	}
	return fmt.Errorf("--admin %s: other machines reach this address, and the API shows all objects; state "+
		"--admin-tls-cert and --admin-tls-key, and a check of callers with --admin-token-file or --admin-client-ca; or "+
		"listen at "+
		"127.0.0.1:%s", addr, port)
}

// configFor is how a server with this listener speaks TLS. A name that was taken for this machine's may lead elsewhere,
// so the address counts that is bound.
func (a Access) configFor(listener net.Listener) (*tls.Config, error) {
	if bound := listener.Addr().(*net.TCPAddr); !bound.IP.IsLoopback() {
		if err := a.checkRemote(bound.String(), strconv.Itoa(bound.Port)); err != nil {
			return nil, err
		}
	}
	return a.tlsConfig()
}

// readToken reads the token.
func (a Access) readToken() (string, error) {
	text, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", fmt.Errorf("--admin-token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minTokenLength || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return "", fmt.Errorf("--admin-token-file %s: want one line of at least %d letters, digits and signs, such as "+
			"`openssl rand -hex 32` prints", a.TokenFile, minTokenLength)
	}
	return token, nil
}

// tlsConfig is how the server speaks TLS; nil: it does not.
func (a Access) tlsConfig() (*tls.Config, error) {
	if a.Certificate == "" {
		return nil, nil
	}
	pair, err := certfile.Open(a.Certificate, a.Key)
	if err != nil {
		return nil, fmt.Errorf("--admin-tls-cert, --admin-tls-key: %w", err)
	}
	c := &tls.Config{GetCertificate: pair.Get, MinVersion: tls.VersionTLS12}
	if a.ClientCA == "" {
		return c, nil
	}
	if _, err = readAuthorities(a.ClientCA, "--admin-client-ca"); err != nil {
		return nil, err
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven // a client without one gets an HTTP error that says so
	each := c.Clone()
	each.SessionTicketsDisabled = true // a ticket would do for the certificate that it was given for
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		each := each.Clone()
		var err error
		if each.ClientCAs, err = readAuthorities(a.ClientCA, "--admin-client-ca"); err != nil {
			each.ClientCAs = x509.NewCertPool() // no certificate is of its authorities
		}
		return each, nil
	}
	return c, nil
}

// readAuthorities reads certificates, in PEM.
func readAuthorities(file, flag string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s %s: want certificates in PEM; it has none", flag, file)
	}
	return pool, nil
}

// allowsRequest tells whether a caller may ask.
func (a Access) allowsRequest(r *http.Request) (bool, error) {
	if !a.requiresIdentity() || r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true, nil
	}
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if a.TokenFile == "" || !strings.EqualFold(scheme, "Bearer") { // RFC 9110, 11.1
		return false, nil
	}
	token, err := a.readToken()
	if err != nil {
		return false, err
	}
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(shown)) // of one length
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1, nil
}

// describeRefusal says what a caller has to show.
func (a Access) describeRefusal() string {
	var ways []string
	if a.TokenFile != "" {
		ways = append(ways, "its token (the header \"Authorization: Bearer TOKEN\"; --admin-token-file of commands)")
	}
	if a.ClientCA != "" {
		ways = append(ways, "a certificate of its authority (--admin-cert and --admin-key of commands)")
	}
	return "the admin API wants " + strings.Join(ways, " or ")
}
