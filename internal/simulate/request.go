package simulate

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
}

func (r Request) scheme() string {
	if r.TLS {
		return "https"
	}
	return "http"
}

// clone is a request that can be changed.
func (r Request) clone() Request {
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	return r
}

// header is all values of a header, joined by commas.
func (r Request) header(name string) (value string, found bool) {
	values := r.values(name)
	return strings.Join(values, ","), len(values) > 0
}

// values are those of a header. A name with a colon is a part of the request line.
func (r Request) values(name string) []string {
	switch strings.ToLower(name) {
	case ":method":
		return []string{r.Method}
	case ":path":
		return []string{r.Path}
	case ":scheme":
		return []string{r.scheme()}
	case ":authority", "host":
		return []string{r.Host}
	}
	return r.Header.Values(name)
}

// path is the path without its query.
func (r Request) path() string {
	path, _, _ := strings.Cut(r.Path, "?")
	return path
}

// withPath is the request's path and query with another path.
func (r Request) withPath(path string) string { return path + r.Path[len(r.path()):] }

// HeaderNames are the names of headers, sorted.
func HeaderNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }
