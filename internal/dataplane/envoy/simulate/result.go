package simulate

import (
	"net/netip"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/request"
)

// Result is what would happen to a request, or to a connection. Names are those of the configuration; "" where it did
// not get so far.
type Result struct {
	Listener    string `json:"listener,omitempty"`
	Chain       string `json:"chain,omitempty"`
	ServerName  string `json:"serverName,omitempty"` // that the chain states: a host or "*.host"
	Table       string `json:"table,omitempty"`
	VirtualHost string `json:"virtualHost,omitempty"`
	// SharedBy is what shares connections among backends: a filter among clusters, of a UDP listener a cluster among its
	// localities.
	SharedBy string `json:"sharedBy,omitempty"`
	// Mismatch: the listener reads no requests and was asked about one, or it reads nothing else and was asked about a
	// connection.
	Mismatch bool `json:"mismatch,omitempty"`

	// Closed says why the connection ends without an answer; "" if it doesn't.
	Closed string `json:"closed,omitempty"`
	// Refused says why the proxy answers before it looks for a route; "" if it looks.
	Refused string `json:"refused,omitempty"`
	// Outcomes share the requests, in the order of the configuration. There is none if the connection is closed.
	Outcomes []Outcome `json:"outcomes,omitempty"`

	// SourceRanges are those of clients' addresses on which the result depends, if the client's is not known.
	SourceRanges []netip.Prefix `json:"sourceRanges,omitempty"`
	// NotSimulated names what is configured and could not be evaluated, sorted.
	NotSimulated []string `json:"notSimulated,omitempty"`
	// Undecided: because of it, nothing can be said but what stands above.
	Undecided bool `json:"undecided,omitempty"`
}

// Outcome is what happens to a share of the requests or connections: a cluster gets them, or the proxy answers itself.
type Outcome struct {
	Route    string              `json:"route,omitempty"` // "": none took the request
	Match    *routev3.RouteMatch `json:"-"`               // the route's
	Cluster  string              `json:"cluster,omitempty"`
	Locality string              `json:"locality,omitempty"` // of a cluster, that gets datagrams: its sub-zone
	Mirrors  []Mirror            `json:"mirrors,omitempty"`  // where copies go
	request.Effect
}

// Mirror is a cluster that gets copies of requests.
type Mirror struct {
	Cluster string  `json:"cluster"`
	Share   float64 `json:"share"` // of the outcome's requests, at most 1
}
