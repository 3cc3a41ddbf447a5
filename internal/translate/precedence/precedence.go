// Package precedence decides which of several matches gets a request: the Order of a site, as HTTPRouteRule.matches and
// GRPCRouteRule.matches want it.
//
// It owns how an Order is written, and why one comes after another. It must never know collections, findings or the
// objects that routes refer to. Start reading at EntryOrder.
package precedence

import (
	"strconv"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// An Order is a string that sorts as HTTPRouteRule.matches wants it: the smaller one gets the request. Its parts, each
// of a fixed width, from strong to weak:
//
//	hostname  a exact, b wildcard, c none; then the longer first
//	path      a exact, b regular expression, c prefix; then the longer first
//	method    a stated, b any
//	headers   the more the better
//	query     the more the better
//	age       the older first; one without a creation time is younger than all that have one
//	name      namespace/name of the route
//	place     index of the rule and of the match
//
// A GRPCRoute's match (GRPCRouteRule.matches) has in place of path, method and query:
//
//	service   g; then the longer first; a regular expression is as long as it is written
//	method    the longer first
//
// The spec leaves open where a regular expression ranks. Here it comes before prefixes: a catch-all would hide it else.

// hostOrder is an Order's part for the route's own hostname.
func hostOrder(original string) string {
	switch {
	case original == model.EveryHost:
		return "c000"
	case strings.HasPrefix(original, "*."):
		return "b" + padDescending(len(original), 3)
	}
	return "a000"
}

// MatchOrder is an Order's part for the match itself.
func MatchOrder(m model.Match) string {
	b := make([]byte, 0, 16)
	if m.GRPC != nil {
		b = append(b, grpcOrder)
		b = append(b, padDescending(len(m.GRPC.Service), 5)...)
		b = append(b, padDescending(len(m.GRPC.Method), 5)...)
		return string(append(b, padDescending(len(m.Headers), 2)...))
	}
	switch m.Path.Type {
	case model.PathExact, model.PathNone:
		b = append(b, 'a')
	case model.PathRegex, model.PathStart:
		b = append(b, 'b')
	default:
		b = append(b, 'c')
	}
	b = append(b, padDescending(len(m.Path.Value), 5)...)
	if m.Method != "" {
		b = append(b, 'a')
	} else {
		b = append(b, 'b')
	}
	b = append(b, padDescending(len(m.Headers), 2)...)
	b = append(b, padDescending(len(m.Query), 2)...)
	return string(b)
}

// AgeOrder is an Order's part for the route's creation time.
func AgeOrder(created time.Time) string {
	if created.IsZero() {
		return "~"
	}
	return created.UTC().Format("20060102150405.000000000")
}

// EntryOrder joins the parts.
func EntryOrder(original, match, age string, route model.ObjectRef, rule, index int) string {
	b := make([]byte, 0, 64)
	b = append(b, hostOrder(original)...)
	b = append(b, match...)
	b = append(b, age...)
	b = append(b, ' ')
	b = append(b, route.Namespace()...)
	b = append(b, '/')
	b = append(b, route.Name()...)
	b = append(b, ' ')
	b = append(b, padAscending(rule, 4)...)
	b = append(b, padAscending(index, 3)...)
	return string(b)
}

// RuleIndex is where the rule stands in its route, from an Order.
func RuleIndex(order string) int {
	end := len(order) - 3 // the match
	i, err := strconv.Atoi(order[end-4 : end])
	if err != nil {
		panic(err) // EntryOrder made it
	}
	return i
}

// padDescending writes n so that the larger sorts first, in a fixed number of digits.
func padDescending(n, digits int) string {
	limit := 1
	for range digits {
		limit *= 10
	}
	return padAscending(max(limit-1-n, 0), digits)
}

// padAscending writes n in a fixed number of digits.
func padAscending(n, digits int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(digits-len(s), 0)) + s
}

// WhyLater tells why a site comes after another one of the same domain, from their Orders: "it has a shorter path".
func WhyLater(first, later string) string {
	at := 0
	for at < min(len(first), len(later)) && first[at] == later[at] {
		at++
	}
	parts := orderParts
	if len(first) > 4 && first[4] == grpcOrder {
		parts = grpcParts
	}
	for _, part := range parts {
		if at < part.end {
			return part.behind
		}
	}
	switch strings.Count(first[:at], " ") {
	case 0:
		return "its route is younger"
	case 1:
		return "the name of its route comes later"
	}
	return "it comes later in its route"
}

type orderPart struct {
	end    int
	behind string
}

// grpcOrder begins the part for a GRPCRoute's match.
const grpcOrder = 'g'

// grpcParts are orderParts of a GRPCRoute.
var grpcParts = []orderPart{
	{4, "its hostname is less specific"}, {10, "it states a shorter service"}, {15, "it states a shorter method"},
	{17, "it states fewer headers"},
}

// orderParts are the parts of fixed width that an Order begins with, by where they end.
var orderParts = []orderPart{
	{4, "its hostname is less specific"}, {5, "its path type has a lower precedence"}, {10, "it has a shorter path"},
	{11, "it states no method"},
	{13, "it states fewer headers"}, {15, "it states fewer query parameters"},
}
