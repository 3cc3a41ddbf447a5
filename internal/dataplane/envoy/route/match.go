package route

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// unmatchablePath is a path that no request has: a request's path starts with a slash.
const unmatchablePath = "unmatchable"

// RouteMatch renders a match. An error means that no Envoy takes it.
func RouteMatch(m model.Match) (*routev3.RouteMatch, error) {
	match := &routev3.RouteMatch{}
	if m.GRPC != nil {
		m.Path = GRPCPath(*m.GRPC)
	}
	switch m.Path.Type {
	case model.PathExact:
		match.PathSpecifier = &routev3.RouteMatch_Path{Path: m.Path.Value}
	case model.PathNone:
		match.PathSpecifier = &routev3.RouteMatch_Path{Path: unmatchablePath}
	case model.PathStart:
		start, _ := model.RegexStart(m.Path.Value)
		match.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: start}
	case model.PathRegex:
		match.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: m.Path.Value}}
	case model.PathPrefix, "":
		match.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
		if prefix := trimTrailingSlash(m.Path.Value); prefix != "" {
			match.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: prefix}
		}
	default:
		return nil, fmt.Errorf("path type %q is unknown", m.Path.Type)
	}
	if m.Method != "" {
		match.Headers = append(match.Headers, headerMatch(":method", message.ExactMatcher(m.Method)))
	}
	for _, h := range m.Headers {
		matcher := headerMatch(h.Name, valueMatch(h))
		if matchesAnyValue(h) {
			matcher.HeaderMatchSpecifier = &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}
		}
		match.Headers = append(match.Headers, matcher)
	}
	for _, q := range m.Query {
		matcher := &routev3.QueryParameterMatcher{
			Name:                         q.Name,
			QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: valueMatch(q)},
		}
		if matchesAnyValue(q) {
			matcher.QueryParameterMatchSpecifier = &routev3.QueryParameterMatcher_PresentMatch{PresentMatch: true}
		}
		match.QueryParameters = append(match.QueryParameters, matcher)
	}
	return match, match.ValidateAll()
}

// GRPCPath compares the path that calls a gRPC method: "/SERVICE/METHOD".
func GRPCPath(m model.GRPCMatch) model.PathMatch {
	switch {
	case m.Service == "" && m.Method == "":
		return model.PathMatch{Type: model.PathPrefix, Value: "/"}
	case !m.Regex && m.Service != "" && m.Method != "":
		return model.PathMatch{Type: model.PathExact, Value: "/" + m.Service + "/" + m.Method}
	case !m.Regex && m.Method == "":
		return model.PathMatch{Type: model.PathPrefix, Value: "/" + m.Service}
	}
	part := func(text string) string {
		switch {
		case text == "":
			return "[^/]+"
		case !m.Regex:
			return regexp.QuoteMeta(text)
		}
		return "(?:" + model.ClosedRegex(text) + ")"
	}
	return model.PathMatch{Type: model.PathRegex, Value: "/" + part(m.Service) + "/" + part(m.Method)}
}

// trimTrailingSlash cuts what has no meaning at the end of a prefix; the prefix of every path becomes "".
func trimTrailingSlash(prefix string) string { return strings.TrimRight(prefix, "/") }

func headerMatch(name string, value *matcherv3.StringMatcher) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{
		Name:                 name,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: value},
	}
}

// matchesAnyValue tells whether a value only has to be there.
func matchesAnyValue(v model.ValueMatch) bool { return v.Regex && v.Value == "" }

func valueMatch(v model.ValueMatch) *matcherv3.StringMatcher {
	if !v.Regex {
		return message.ExactMatcher(v.Value)
	}
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
		SafeRegex: &matcherv3.RegexMatcher{Regex: v.Value},
	}}
}

// slashes is what Envoy makes of a path of slashes only, where it merges them.
const slashes = "//"

// EquivalentMatches are what takes a match's requests: that match and, for the exact path "/", one for paths of slashes
// only.
func EquivalentMatches(m *routev3.RouteMatch) []*routev3.RouteMatch {
	if m.GetPath() != "/" {
		return []*routev3.RouteMatch{m}
	}
	other := proto.CloneOf(m)
	other.PathSpecifier = &routev3.RouteMatch_Path{Path: slashes}
	return []*routev3.RouteMatch{m, other}
}

// MatchIndex finds the match of a rule that was rendered to a route's match, for its requests or for their preflights;
// -1 if there is none.
func MatchIndex(r model.Rule, rendered *routev3.RouteMatch) (index int, preflight bool) {
	rendered = proto.CloneOf(rendered)
	rendered.RuntimeFraction = nil // of a share of the requests
	if last := len(rendered.Headers) - 1; last >= 0 && proto.Equal(rendered.Headers[last], webSocketMatcher()) {
		rendered.Headers = rendered.Headers[:last]
	}
	if rendered.GetPath() == slashes {
		rendered.PathSpecifier = &routev3.RouteMatch_Path{Path: "/"}
	}
	same := func(m model.Match) bool {
		match, err := RouteMatch(m)
		return err == nil && proto.Equal(match, rendered)
	}
	if i := slices.IndexFunc(r.Matches, same); i >= 0 {
		return i, false
	}
	i := slices.IndexFunc(r.Matches, func(m model.Match) bool {
		asks, apart := m.PreflightMatch()
		return apart && same(asks)
	})
	return i, i >= 0
}
