package request

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Request is a request as a client sends it, or as a backend gets it.
type Request struct {
	Address string // IP address that the client connects to; "" is any that a listener of the port has
	Port    uint32 // that is bound
	TLS     bool
	SNI     string // of the TLS handshake
	Method  string
	Host    string      // as it is sent, with the port if it has one (":authority")
	Path    string      // with the query, escaped
	Header  http.Header // without Host
	// Agent is who sends it, and which message of MCP it holds; nil: that is not known.
	Agent *Agent
}

// Agent is who sends a request to a server of MCP, and what stands in it.
type Agent struct {
	// Caller is the one URI of the client's certificate, which the listener's authorities signed; "": there is none.
	Caller string `json:"caller,omitempty"`
	// Claims of the accepted token, as encoding/json reads them; nil: it is not known, or there is none.
	Claims map[string]any `json:"claims"`
	// Method of the message, "tools/call", and its Params; "": the request holds none.
	Method string         `json:"method,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	// Server: the request goes to a server of MCP. The simulation sets it.
	Server bool `json:"-"`
}

// Scheme is "http" or "https".
func (r Request) Scheme() string {
	if r.TLS {
		return "https"
	}
	return "http"
}

// Clone is a copy with headers of its own, which can be changed.
func (r Request) Clone() Request {
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	return r
}

// HeaderValue is all values of a header, joined by commas.
func (r Request) HeaderValue(name string) (value string, found bool) {
	values := r.HeaderValues(name)
	return strings.Join(values, ","), len(values) > 0
}

// HeaderValues are those of a header. A name with a colon is a part of the request line.
func (r Request) HeaderValues(name string) []string {
	switch strings.ToLower(name) {
	case ":method":
		return []string{r.Method}
	case ":path":
		return []string{r.Path}
	case ":scheme":
		return []string{r.Scheme()}
	case ":authority", "host":
		return []string{r.Host}
	}
	return r.Header.Values(name)
}

// URLPath is the path without its query.
func (r Request) URLPath() string {
	path, _, _ := strings.Cut(r.Path, "?")
	return path
}

// WithPath is the request's path and query with another path.
func (r Request) WithPath(path string) string { return path + r.Path[len(r.URLPath()):] }

// HeaderNames are the names of headers, sorted.
func HeaderNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }

// Values that a proxy puts into a request or an answer by itself, and that only it knows.
const (
	GeneratedID   = "(an ID that the proxy makes)"
	ClientAddress = "(the client's address)" // as the proxy sees it, or the proxy's own for a client of its machine
	MaybeReferer  = "(as sent, if the proxy takes it for a URL)"
	TimeOfAnswer  = "(the time of the answer)"
	SecretValue   = "(a value of a Secret)"
	// ClientCertificate stands for a header that is only there if the client shows a certificate.
	ClientCertificate = "(of the client's certificate, if it shows one)"
)

// OnlyProxyKnows tells whether a value holds one of these words.
func OnlyProxyKnows(value string) bool {
	return slices.ContainsFunc([]string{GeneratedID, ClientAddress, MaybeReferer, TimeOfAnswer, SecretValue,
		ClientCertificate},
		func(words string) bool { return strings.Contains(value, words) })
}
