// Package mcpclient asks a server of MCP which tools it has.
//
// It owns the client, which is the client of MCP's Go SDK. It must never know policies or objects.
package mcpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is where to ask.
type Server struct {
	Address string // "10.0.0.7:8080"
	Path    string // "/mcp"
	// Hostname, if set, is asked for over TLS, and has to be in the certificate.
	Hostname string
	CA       string      // who may sign the certificate, in PEM; "": those that the system trusts
	Header   http.Header // of each request, such as authorization
}

// Tool is a tool that a server has.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// maxTools is how many tools are read.
const maxTools = 10_000

// ListTools asks a server for all of its tools, in the order in which it lists them.
func ListTools(ctx context.Context, s Server, version string) (list []Tool, err error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Address)
	}}
	defer transport.CloseIdleConnections()
	url := "http://" + s.Address + s.Path
	if s.Hostname != "" {
		url = "https://" + s.Hostname + s.Path
		transport.TLSClientConfig = &tls.Config{ServerName: s.Hostname}
		if s.CA != "" {
			transport.TLSClientConfig.RootCAs = x509.NewCertPool()
			if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(s.CA)) {
				return nil, fmt.Errorf("the CA certificates of %s can't be read", s.Hostname)
			}
		}
	}
	client := &http.Client{Transport: headerTransport{transport, s.Header}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "cardea", Version: version}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: tools/list: %w", url, err)
		case len(list) == maxTools:
			return nil, fmt.Errorf("%s has more than %d tools", url, maxTools)
		}
		list = append(list, Tool{tool.Name, tool.Description})
	}
	return list, nil
}

// headerTransport adds a header to requests.
type headerTransport struct {
	http.RoundTripper
	header http.Header
}

func (w headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range w.header {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	return w.RoundTripper.RoundTrip(r)
}
