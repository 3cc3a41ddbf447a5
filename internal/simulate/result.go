package simulate

import (
	"net/http"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

// Result is what would happen to a request. Names are those of the configuration; "" where the request did not get so
// far.
type Result struct {
	Listener    string `json:"listener,omitempty"`
	Chain       string `json:"chain,omitempty"`
	Table       string `json:"table,omitempty"`
	VirtualHost string `json:"virtualHost,omitempty"`

	// Closed says why the connection ends without an answer; "" if it doesn't.
	Closed string `json:"closed,omitempty"`
	// Refused says why the proxy answers before it looks for a route; "" if it looks.
	Refused string `json:"refused,omitempty"`
	// Outcomes share the requests, in the order of the configuration. There is none if the connection is closed.
	Outcomes []Outcome `json:"outcomes,omitempty"`

	// NotSimulated names what is configured and could not be evaluated, sorted.
	NotSimulated []string `json:"notSimulated,omitempty"`
	// Undecided: because of it, nothing can be said but what stands above.
	Undecided bool `json:"undecided,omitempty"`
}

// Outcome is what happens to a share of the requests: a cluster gets them, or the proxy answers itself.
type Outcome struct {
	Share float64             `json:"share"`           // of the requests, above 0, at most 1
	Route string              `json:"route,omitempty"` // "": none took the request
	Match *routev3.RouteMatch `json:"-"`               // the route's

	// Status of the proxy's own answer; 0: a backend answers.
	Status   int         `json:"status,omitempty"`
	Location string      `json:"location,omitempty"` // of a redirect
	Header   http.Header `json:"header,omitempty"`   // what the configuration puts into the proxy's own answer

	Cluster   string   `json:"cluster,omitempty"`
	Endpoints []string `json:"endpoints,omitempty"` // that can get requests: "address:port", sorted
	Named     bool     `json:"named,omitempty"`     // the endpoints are names that the proxy looks up
	// what the backend gets; MadeID and the like stand for what only the proxy knows
	Request  *Request `json:"request,omitempty"`
	Response []Edit   `json:"response,omitempty"` // what is done to the headers of its answer, in order
	Mirrors  []Mirror `json:"mirrors,omitempty"`  // where copies go
	// what keeps a client at its endpoint: "cookie s", "header x-s"; "": nothing
	Session string `json:"session,omitempty"`
	Unkept  string `json:"unkept,omitempty"` // what would keep it if the request were below its path: "cookie s (path /a)"
	Limits  Limits `json:"limits,omitzero"`

	arrived http.Header // of the request as routes were compared with it
}

// Mirror is a cluster that gets copies of requests.
type Mirror struct {
	Cluster string  `json:"cluster"`
	Share   float64 `json:"share"` // of the outcome's requests, at most 1
}
