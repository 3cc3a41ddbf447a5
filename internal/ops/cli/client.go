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

// adminClient asks the admin API of a running Cardea.
type adminClient struct {
	catalog *kind.Catalog
	server  string // without a slash at its end
	http    *http.Client
}

// redactedServer is the server's address for messages, without a password that it may have.
func (c *adminClient) redactedServer() string {
	if u, err := url.Parse(c.server); err == nil {
		return u.Redacted()
	}
	return c.server
}

// serverHint says what to do if there is no Cardea at an address.
const serverHint = "set the address of Cardea's admin API with --server or $CARDEA_SERVER"

// serverOptions say which admin API is asked, and what it is shown.
type serverOptions struct {
	server      string // "": $CARDEA_SERVER, or the default address
	credentials admin.Credentials
}

// bindServer adds the flags that say so.
func bindServer(cmd *cobra.Command, o *serverOptions) {
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "",
		"address of the admin API ($CARDEA_SERVER, else http://"+admin.DefaultAddr+")")
	f.StringVar(&o.credentials.TokenFile, "admin-token-file", "", "file with the API's token ($CARDEA_ADMIN_TOKEN_FILE)")
	f.StringVar(&o.credentials.CA, "admin-ca", "",
		"file with the authorities of the API's certificate ($CARDEA_ADMIN_CA, else the machine's)")
	f.StringVar(&o.credentials.Certificate, "admin-cert", "",
		"file with a certificate that the API is shown ($CARDEA_ADMIN_CERT)")
	f.StringVar(&o.credentials.Key, "admin-key", "", "file with the certificate's key ($CARDEA_ADMIN_KEY)")
	completeFlag(cmd, "server", "http://"+admin.DefaultAddr)
}

// newClient asks that API.
func (o serverOptions) newClient(catalog *kind.Catalog) (*adminClient, error) {
	server := cmp.Or(o.server, os.Getenv("CARDEA_SERVER"), admin.DefaultAddr)
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	asks, err := o.credentials.OrEnvironment().NewClient(time.Minute)
	if err != nil {
		return nil, err
	}
	return &adminClient{catalog, strings.TrimSuffix(server, "/"), asks}, nil
}

func (c *adminClient) listKinds(ctx context.Context) (json.RawMessage, error) {
	return c.getJSON(ctx, "/objects")
}

func (c *adminClient) listObjects(ctx context.Context, n *kind.Kind, namespace string) (json.RawMessage, error) {
	words := []string{"objects", c.catalog.ShortestName(n)}
	if !n.Cluster && namespace != "" {
		words = append(words, namespace)
	}
	return c.getJSON(ctx, joinPath(words))
}

func (c *adminClient) getObject(ctx context.Context, n *kind.Kind, namespace, name string) (json.RawMessage, error) {
	words := []string{"objects", c.catalog.ShortestName(n)}
	if !n.Cluster {
		words = append(words, namespace)
	}
	return c.getJSON(ctx, joinPath(append(words, name)))
}

// getJSON sends a GET. The answer is JSON.
func (c *adminClient) getJSON(ctx context.Context, path string) (json.RawMessage, error) {
	return c.sendRequest(ctx, http.MethodGet, path, nil)
}

// postJSON sends a POST with JSON. The answer is JSON.
func (c *adminClient) postJSON(ctx context.Context, path string, question []byte) (json.RawMessage, error) {
	return c.sendRequest(ctx, http.MethodPost, path, question)
}

func (c *adminClient) sendRequest(ctx context.Context, method, path string, body []byte) (json.RawMessage, error) {
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
				"to read a cluster without it, use --kube", c.redactedServer(), serverHint)
	case isCredentials:
		return nil, credentials
	case untrusted:
		return nil, fmt.Errorf("the certificate of %s is not trusted (%w): name its authority with --admin-ca or "+
			"$CARDEA_ADMIN_CA", c.redactedServer(), certificate.Err)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case unreachable:
		return nil, fmt.Errorf("%s can't be reached (%w): %s", c.redactedServer(), innermostError(err), serverHint)
	case err != nil:
		return nil, fmt.Errorf("%s is not Cardea's admin API (%w): %s", c.redactedServer(), err, serverHint)
	}
	defer response.Body.Close()
	if response.Header.Get(admin.Header) == "" {
		kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
		return nil, fmt.Errorf("%s is not Cardea's admin API (it answers %s, %s): %s", c.redactedServer(), response.Status,
			cmp.Or(kind, "no content type"), serverHint)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, parseFailure(response.StatusCode, text)
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("can't read the answer of the Cardea at %s: it may have another version", c.redactedServer())
	}
	return text, nil
}

// innermostError is the innermost text of an error of a request: "no such host" instead of "Get "http://...": dial tcp:
// lookup foo: no such host".
func innermostError(err error) error {
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

// parseFailure is the error in a server's answer.
func parseFailure(code int, text []byte) error {
	var status admin.Status
	if err := json.Unmarshal(text, &status); err != nil || status.Kind != "Status" {
		status.Message = strings.TrimSpace(string(text))
	}
	return serverError{strings.ReplaceAll(http.StatusText(code), " ", ""), status.Message}
}

// joinPath makes a path of words, and escapes them.
func joinPath(words []string) string {
	var path strings.Builder
	for _, w := range words {
		path.WriteString("/" + url.PathEscape(w))
	}
	return path.String()
}
