package request

import (
	"net/http"
	"strings"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Simulation tells what the proxies of one Gateway do with requests and connections, by some configuration or an
// excerpt of it. One goroutine at a time may ask it.
type Simulation interface {
	// SimulateRequest tells what would happen to a request.
	SimulateRequest(Request) Result
	// SimulateConnection tells what would happen to a connection that a listener does not read as requests.
	SimulateConnection(Connection) Result
	// CompareRoutes compares a request with all routes of its domain, in their order; the first that misses nothing gets
	// it.
	CompareRoutes(Request) []RouteComparison
	// ListRoutes are those of a domain of a route table, in order; none if there is no such domain.
	ListRoutes(table resource.Name, domain string) []Route
	// EntryRequests are requests, but for host and path, that are looked up in a table: one for each way in.
	EntryRequests(table resource.Name) []Request
}

// Route is one of a configuration.
type Route struct {
	Rule    model.RuleKey
	Match   Match
	Content string // equal for equal routes
	Around  string // what is stated for it and others: equal for equal statements
	// Stimuli are requests like one that the route takes, which show what is done to some only.
	Stimuli func(taken Request) []Request
}

// Match is what a route takes. A table may have 10,000 routes, so what is told of a match is made when it is asked for.
type Match interface {
	Describe() Phrase
	// IndexIn finds the match of a rule that became this one; -1 if there is none, as the rule is another one by now.
	IndexIn(model.Rule) int
	// IsPreflight: it takes the CORS preflights of the requests that a match of a rule takes, not these themselves.
	IsPreflight(model.Rule) bool
	// ComparesHost: besides being a route of its domain, it compares the host that is asked for.
	ComparesHost() bool
	// Witnesses are requests that show what it takes at a domain: one that it takes, the first, and near misses. from is
	// where they enter (Simulation.EntryRequests).
	Witnesses(from Request, domain string) []Request
}

// Phrase tells what a match takes, in words.
type Phrase struct {
	Path       string   // "paths below /cart"
	Conditions []string // "method GET", "header x-a: 1"
}

// String is the whole: "paths below /cart, method GET".
func (p Phrase) String() string { return strings.Join(append([]string{p.Path}, p.Conditions...), ", ") }

// HostOf is a host of a domain: the one that witnesses ask for.
func HostOf(domain string) string {
	if domain == "*" {
		return "any.example"
	}
	return strings.Replace(domain, "*", "any", 1)
}

// NewGetRequest makes a GET request for a domain's path /. from is where it enters.
func NewGetRequest(from Request, domain string) Request {
	from.Method, from.Host, from.Path, from.Header = http.MethodGet, HostOf(domain), "/", http.Header{}
	if from.TLS && from.SNI == "" {
		from.SNI = from.Host
	}
	return from
}
