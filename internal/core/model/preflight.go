package model

import (
	"net/http"
	"slices"
	"strings"
)

// The headers by which a browser asks, in a preflight, whether a script of an origin may send a request (FetchSpec
// standard, CORS-preflight fetch).
const (
	originHeader        = "origin"
	requestMethodHeader = "access-control-request-method"
)

// PreflightMatch is what takes the preflights of the requests that a match takes. A preflight has the path and the
// query of that request, but neither its method nor its headers, except for "origin". It is false if the match takes
// them itself.
func (m Match) PreflightMatch() (Match, bool) {
	asks := Match{Path: m.Path, GRPC: m.GRPC, Query: m.Query, Method: http.MethodOptions}
	for _, h := range m.Headers {
		if strings.EqualFold(h.Name, originHeader) {
			asks.Headers = append(asks.Headers, h)
		}
	}
	if (m.Method == "" || m.Method == http.MethodOptions) && len(asks.Headers) == len(m.Headers) {
		return Match{}, false
	}
	if len(asks.Headers) == 0 {
		asks.Headers = append(asks.Headers, ValueMatch{Name: originHeader, Regex: true})
	}
	asks.Headers = append(asks.Headers, ValueMatch{Name: requestMethodHeader, Value: m.Method, Regex: m.Method == ""})
	return asks, true
}

// HasPreflights tells whether a match of the rule does not take the preflights of its requests.
func (r Rule) HasPreflights() bool {
	return slices.ContainsFunc(r.Matches, func(m Match) bool {
		_, apart := m.PreflightMatch()
		return apart
	})
}

// CORSFilter is the CORS filter of a rule, or the first of its backends; nil: there is none.
func (r Rule) CORSFilter() *CORS {
	if r.CORS != nil {
		return r.CORS
	}
	for _, b := range r.Backends {
		if b.Weight > 0 && b.Filters != nil && b.Filters.CORS != nil {
			return b.Filters.CORS
		}
	}
	return nil
}
