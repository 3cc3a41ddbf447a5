package model

import (
	"fmt"
	"time"
)

// Route is a route that names a Gateway of ours: where it serves, and what it does there.
type Route struct {
	Created   time.Time       // zero: not stated
	Gateways  []RouteGateway  // that it is attached to, each once
	Listeners []RouteListener // each listener once; none: it serves nowhere
	Rules     []Rule
	// Backends are the objects that its rules name as backends and may name, each once, whether they can be served or not;
	// only of kinds that have to know who names them (kind.Kind.IsFollowed).
	Backends []ObjectRef
	// Findings are about its rules, and about it as a whole.
	Findings []Finding
}

// IsForConnections tells whether the route serves connections, not requests. It is false while it serves nowhere.
func (r Route) IsForConnections() bool { return len(r.Listeners) > 0 && r.Listeners[0].Carries != "" }

// DataPlaneOf is that of a Gateway that the route is attached to.
func (r Route) DataPlaneOf(gateway ObjectRef) DataPlane {
	for _, g := range r.Gateways {
		if g.Ref == gateway {
			return g.DataPlane
		}
	}
	return DataPlane{}
}

// RouteGateway is a Gateway that a route is attached to, whether it serves there or not.
type RouteGateway struct {
	Ref       ObjectRef
	DataPlane DataPlane
}

// RouteListener is a listener where a route serves.
type RouteListener struct {
	Listener ListenerKey
	Gateway  ObjectRef // its proxies serve it
	// Carries is what its connections carry to the backends of the route; "": requests of HTTP.
	Carries Carried
	Domains []Domain // at least one
}

// Domain is what a listener's hostname and a route's share.
type Domain struct {
	Name     string // Every, "host" or "*.host"
	Original string // the route's hostname that led to it, or EveryHost: precedence goes by this one
}

// RuleKey names a rule: the route and the rule's name in it. An unnamed rule's name is made of its matches and an
// ordinal among equals, never of its position.
type RuleKey struct {
	Route ObjectRef
	Name  string
}

// Owner is the route.
func (k RuleKey) Owner() ObjectRef { return k.Route }

// Rule says what happens to a request that one of its matches takes. Exactly one of Error, Redirect, Answers and
// Backends decides the answer, in this order. A rule for connections (kind.Route.Connections) has a Key, an Index,
// Backends, and one Match, which takes every connection of the places where its route serves.
type Rule struct {
	Key     RuleKey
	Index   int     // in spec.rules; two may have one, if one of them has only the matches that can't be read
	Matches []Match // none: it takes no request; RouteEntry.Match is an index into it, and into spec.rules[].matches

	// Error, if not zero, is the HTTP status that answers in place of the rule: it can't be served as written.
	Error int
	// Filters work on every request, whichever backend gets it.
	Filters
	// Backends share the requests by weight. None, or none with a weight: the Failure of the route's kind.
	Backends []WeightedBackend
	Timeouts Timeouts
	Retry    *Retry
	Session  *Session
	// Policies are those that its filters of type ExtensionRef name, in their order.
	Policies []ObjectRef
	// PolicyAnswers: one of Policies answers requests in place of Backends.
	PolicyAnswers bool
}

// FieldPath is where the rule stands in its route.
func (r Rule) FieldPath() string { return fmt.Sprintf("spec.rules[%d]", r.Index) }

// Match takes a request if all that it states holds. The zero Match takes every request.
type Match struct {
	Path    PathMatch
	GRPC    *GRPCMatch // of a GRPCRoute, in place of Path
	Method  string     // "" is any
	Headers []ValueMatch
	Query   []ValueMatch
}

// PathType says how PathMatch.Value is compared.
type PathType string

// Path types. A prefix is compared by path elements; a trailing slash of its value has no meaning and is cut
// (HTTPPathMatch). A regular expression matches the whole path. In a plan each one is valid (CheckRegex), here and in
// other matches. In place of an expression that can't be served stands PathStart, which is any path that begins with
// the expression's RegexStart, or PathNone: it takes no request, and its Value says why ("its regular expression is
// invalid (...)"). PathNone also stands in place of a match that another rule of the same Index has.
const (
	PathPrefix PathType = "PathPrefix"
	PathExact  PathType = "Exact"
	PathRegex  PathType = "RegularExpression"
	PathStart  PathType = "RegexStart"
	PathNone   PathType = "None"
)

// PathMatch compares the path without its query. A prefix "/" (or a zero PathMatch) is every path.
type PathMatch struct {
	Type  PathType
	Value string
}

// GRPCMatch compares the service and the method that a gRPC request calls: its path is /SERVICE/METHOD. "" is any.
type GRPCMatch struct {
	Service, Method string
	Regex           bool // both are regular expressions, and match the whole of each; else exact
}

// ValueMatch compares a header or a query parameter, the name of a header without regard to case.
type ValueMatch struct {
	Name  string
	Value string
	Regex bool // a regular expression of the whole value, "" any value that is there; else exact
}

// WeightedBackend is a backend and its share of the requests.
type WeightedBackend struct {
	Backend BackendKey
	Weight  uint32
	// Invalid: the reference did not resolve; its share is answered with the Failure of the route's kind. Backend is then
	// what was asked for, as far as it can be named.
	Invalid bool
	// External: it is a hostname, which may lead anywhere, also back to the proxy.
	External bool
	// MCP: it is a server of tools for agents, by itself or by one of the rule's Policies.
	MCP bool
	// Pool is how its endpoints are chosen; nil: as every backend's.
	Pool *Pool
	// Standby, if Backend is a pool that another backend stands in for, or that one, is the other of the two; else nil.
	Standby *Standby
	// Filters work on the backend's share only, after those of the rule on the way there, before them on the way back.
	Filters *Filters
	// Session is the backend's own, and counts unless the rule states one.
	Session *Session
	// Policies are those that its filters of type ExtensionRef name, in their order.
	Policies []ObjectRef
}

// ListBackends lists the backends that the rule sends requests to.
func (r Rule) ListBackends() []BackendKey {
	if r.Error != 0 {
		return nil
	}
	list := r.Filters.listBackends()
	if r.Redirect != nil || r.PolicyAnswers {
		return list
	}
	for _, b := range r.Backends {
		if b.Invalid || b.Weight == 0 {
			continue
		}
		if b.Filters != nil {
			list = append(list, b.Filters.listBackends()...)
		}
		if b.Filters == nil || b.Filters.Redirect == nil {
			list = append(list, b.listKeys()...)
		}
	}
	return list
}

// RouteEntryKey names a RouteEntry.
type RouteEntryKey struct {
	Rule     RuleKey
	Match    int
	Listener ListenerKey
	Domain   string
}

// Owner is the route.
func (k RouteEntryKey) Owner() ObjectRef { return k.Rule.Route }

// RouteEntry is one match of a rule where it serves.
type RouteEntry struct {
	// Order sorts the entries of one domain as Gateway API's precedence wants them; see package precedence for how
	// it is made.
	Order string
	Match *Match // that of the rule
	// Browsers: the rule has cookies or a CORS filter, or matches that don't take the preflights of their requests.
	Browsers bool
}

// DomainKey names a domain of a listener: "*" (every host), "host" or "*.host".
type DomainKey struct {
	Listener ListenerKey
	Name     string
}

// DomainClaimKey names a route's claim to a domain of a listener.
type DomainClaimKey struct {
	Route  ObjectRef
	Domain DomainKey
}

// Owner is the route.
func (k DomainClaimKey) Owner() ObjectRef { return k.Route }
