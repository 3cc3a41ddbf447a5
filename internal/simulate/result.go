package simulate

import (
	"net/http"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

// Result is what would happen to a request. Names are those of the configuration; "" where the request did not get so far.
type Result struct {
	Listener    string `json:"listener,omitempty"`
	Chain       string `json:"chain,omitempty"`
	Table       string `json:"table,omitempty"`
	VirtualHost string `json:"virtualHost,omitempty"`
	Route       string `json:"route,omitempty"`

	// Match is that of the route.
	Match *routev3.RouteMatch `json:"-"`

	// Closed says why the connection ends without an answer; "" if it doesn't.
	Closed string `json:"closed,omitempty"`
	// Status of the proxy's own answer; 0: the Destinations answer.
	Status   int    `json:"status,omitempty"`
	Location string `json:"location,omitempty"` // of a redirect
	// Header is what the configuration puts into the proxy's own answer.
	Header http.Header `json:"header,omitempty"`
	// Destinations share the requests.
	Destinations []Destination `json:"destinations,omitempty"`
	// Mirrors get copies.
	Mirrors []Mirror `json:"mirrors,omitempty"`

	// NotSimulated names what is configured and could not be evaluated, sorted.
	NotSimulated []string `json:"notSimulated,omitempty"`
	// Undecided: because of it, nothing can be said but what stands above.
	Undecided bool `json:"undecided,omitempty"`
}

// Destination is a cluster that gets requests, or the proxy's own answer in its place.
type Destination struct {
	Cluster   string   `json:"cluster"`
	Share     float64  `json:"share"`               // of the requests, above 0, at most 1
	Endpoints []string `json:"endpoints,omitempty"` // that can get requests: "address:port", sorted
	Named     bool     `json:"named,omitempty"`     // the endpoints are names that the proxy looks up
	// Status, if not 0, is answered by the proxy since there is nobody to ask.
	Status int `json:"status,omitempty"`
	// Request is what the backend gets.
	Request Request `json:"request"`
	// Response is what is done to the headers of its answer, in order.
	Response []Edit `json:"response,omitempty"`
}

// Mirror is a cluster that gets copies of requests.
type Mirror struct {
	Cluster string  `json:"cluster"`
	Share   float64 `json:"share"` // of the requests, at most 1
}
