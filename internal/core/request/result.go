package request

import (
	"net/netip"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Result is what happens to a request, or to a connection, at the proxies of one Gateway. Fields are zero for what did
// not happen.
type Result struct {
	// The listener of the connection; zero: no single one, as all HTTP listeners of a port share one.
	Listener     model.ListenerKey
	Certificates []model.ObjectRef // Secrets: that the client is shown
	// Table is the route table that the request is looked up in; of a connection, what shares it among backends.
	Table resource.Name
	Part  string // of Table, that decides; its ID
	// Domain is that of the table that has the request's host, or that of the connection; "": none has it.
	Domain string
	// Mismatch: the listener reads no requests and was asked about one, or it reads nothing else and was asked about a
	// connection. Then there are no Outcomes.
	Mismatch bool

	// Closed says why the connection ends without an answer; "" if it doesn't.
	Closed string
	// Refused says why the proxy answers before it looks for a route; "" if it looks.
	Refused string
	// Outcomes share the requests, in the order of the configuration. There is none if the connection is closed.
	Outcomes []Outcome

	// SourceRanges are those of clients' addresses on which the result depends, if the client's is not known.
	SourceRanges []netip.Prefix
	// NotSimulated names what is configured and could not be evaluated, sorted.
	NotSimulated []string
	// Undecided: because of it, nothing can be said but what stands above.
	Undecided bool
}

// Outcome is what happens to a share of the requests or connections: a backend gets them, or the proxy answers itself,
// or ends them.
type Outcome struct {
	Rule    model.RuleKey    // zero: none took the request
	Match   Match            // of the route that took it; nil: none
	Backend model.BackendKey // zero: none gets it
	// Unresolved: it is the share of backends with references that don't resolve.
	Unresolved bool
	Mirrors    []Mirror // where copies go
	Effect
}

// Mirror is a backend that gets copies of requests.
type Mirror struct {
	Backend model.BackendKey
	Share   float64 // of the outcome's requests, at most 1
}

// RouteComparison is a route that was compared with a request.
type RouteComparison struct {
	Rule       model.RuleKey
	Match      Match
	Mismatches []string // why it doesn't take the request; none: it would
}
