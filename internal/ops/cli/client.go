package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/ops/admin"
)

// client asks the admin API of a running Cardea.
type client struct {
	catalog *kind.Catalog
	server  string // without a slash at its end
	http    *http.Client
}

// shown is the server's address for messages, without a password that it may have.
func (c *client) shown() string {
	if u, err := url.Parse(c.server); err == nil {
		return u.Redacted()
	}
	return c.server
}

// orName says what to do if there is no Cardea at an address.
const orName = "set the address of Cardea's admin API with --server or $CARDEA_SERVER"

// serverOptions say which admin API is asked, and what it is shown.
type serverOptions struct {
	server string // "": $CARDEA_SERVER, or the default address
	shows  admin.Credentials
}

// bindServer adds the flags that say so.
func bindServer(cmd *cobra.Command, o *serverOptions) {
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "",
		"address of the admin API ($CARDEA_SERVER, else http://"+admin.DefaultAddr+")")
	f.StringVar(&o.shows.TokenFile, "admin-token-file", "", "file with the API's token ($CARDEA_ADMIN_TOKEN_FILE)")
	f.StringVar(&o.shows.CA, "admin-ca", "",
		"file with the authorities of the API's certificate ($CARDEA_ADMIN_CA, else the machine's)")
	f.StringVar(&o.shows.Certificate, "admin-cert", "",
		"file with a certificate that the API is shown ($CARDEA_ADMIN_CERT)")
	f.StringVar(&o.shows.Key, "admin-key", "", "file with the certificate's key ($CARDEA_ADMIN_KEY)")
	completeFlag(cmd, "server", "http://"+admin.DefaultAddr)
}

// client asks that API.
func (o serverOptions) client(catalog *kind.Catalog) (*client, error) {
	server := cmp.Or(o.server, os.Getenv("CARDEA_SERVER"), admin.DefaultAddr)
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	asks, err := o.shows.OrEnvironment().Client(time.Minute)
	if err != nil {
		return nil, err
	}
	return &client{catalog, strings.TrimSuffix(server, "/"), asks}, nil
}

func (c *client) kinds(ctx context.Context) (json.RawMessage, error) { return c.ask(ctx, "/objects") }

func (c *client) list(ctx context.Context, n *kind.Kind, namespace string) (json.RawMessage, error) {
	words := []string{"objects", c.catalog.Word(n)}
	if !n.Cluster && namespace != "" {
		words = append(words, namespace)
	}
	return c.ask(ctx, join(words))
}

func (c *client) one(ctx context.Context, n *kind.Kind, namespace, name string) (json.RawMessage, error) {
	words := []string{"objects", c.catalog.Word(n)}
	if !n.Cluster {
		words = append(words, namespace)
	}
	return c.ask(ctx, join(append(words, name)))
}

// ask sends a GET. The answer is JSON.
func (c *client) ask(ctx context.Context, path string) (json.RawMessage, error) {
	return c.do(ctx, http.MethodGet, path, nil)
}

// post sends a POST with JSON. The answer is JSON.
func (c *client) post(ctx context.Context, path string, question []byte) (json.RawMessage, error) {
	return c.do(ctx, http.MethodPost, path, question)
}

func (c *client) do(ctx context.Context, method, path string, body []byte) (json.RawMessage, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	credentials, isCredentials := errors.AsType[admin.CredentialsError](err)
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch _, unreachable := errors.AsType[*net.OpError](err); {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil,
			fmt.Errorf("no Cardea runs at %s: start one with `cardea standalone DIR`, or %s; "+
				"to read a cluster without it, use --kube", c.shown(), orName)
	case isCredentials:
		return nil, credentials
	case untrusted:
		return nil, fmt.Errorf("the certificate of %s is not trusted (%w): name its authority with --admin-ca or "+
			"$CARDEA_ADMIN_CA", c.shown(), certificate.Err)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case unreachable:
		return nil, fmt.Errorf("%s can't be reached (%w): %s", c.shown(), bare(err), orName)
	case err != nil:
		return nil, fmt.Errorf("%s is not Cardea's admin API (%w): %s", c.shown(), err, orName)
	}
	defer response.Body.Close()
	if response.Header.Get(admin.Header) == "" {
		kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
		return nil, fmt.Errorf("%s is not Cardea's admin API (it answers %s, %s): %s", c.shown(), response.Status,
			cmp.Or(kind, "no content type"), orName)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, failure(response.StatusCode, text)
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("can't read the answer of the Cardea at %s: it may have another version", c.shown())
	}
	return text, nil
}

// bare is the innermost text of an error of a request: "no such host" instead of "Get "http://...": dial tcp: lookup
// foo: no such host".
func bare(err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(dns.Err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// serverError is an error that the server answered: reason is the HTTP status as one word ("NotFound").
type serverError struct{ reason, message string }

func (e serverError) Error() string { return fmt.Sprintf("(%s): %s", e.reason, e.message) }

// failure is the error in a server's answer.
func failure(code int, text []byte) error {
	var status admin.Status
	if err := json.Unmarshal(text, &status); err != nil || status.Kind != "Status" {
		status.Message = strings.TrimSpace(string(text))
	}
	return serverError{strings.ReplaceAll(http.StatusText(code), " ", ""), status.Message}
}

// join makes a path of words, and escapes them.
func join(words []string) string {
	var path strings.Builder
	for _, w := range words {
		path.WriteString("/" + url.PathEscape(w))
	}
	return path.String()
}
