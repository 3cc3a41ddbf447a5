package simulate

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/internal/core/request"
)

// DescribeMatch tells what a match takes.
func DescribeMatch(m *routev3.RouteMatch) (p request.Phrase) {
	switch path := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		if p.Path = "paths that begin with " + path.Prefix; path.Prefix == "/" {
			p.Path = "every path"
		}
	case *routev3.RouteMatch_PathSeparatedPrefix:
		p.Path = "paths below " + path.PathSeparatedPrefix
	case *routev3.RouteMatch_Path:
		if p.Path = "path " + path.Path; !strings.HasPrefix(path.Path, "/") {
			p.Path = "no path"
		}
	case *routev3.RouteMatch_SafeRegex:
		p.Path = "paths that match " + path.SafeRegex.GetRegex()
	default:
		p.Path = "some paths"
	}
	add := func(what, is string, m *matcherv3.StringMatcher) {
		p.Conditions = append(p.Conditions, describeCondition(what, is, m))
	}
	for _, h := range m.GetHeaders() {
		if name, found := strings.CutPrefix(h.GetName(), ":"); found {
			add(name, " ", h.GetStringMatch())
		} else {
			add("header "+name, ": ", h.GetStringMatch())
		}
	}
	for _, q := range m.GetQueryParameters() {
		add("query parameter "+q.GetName(), ": ", q.GetStringMatch())
	}
	if m.GetGrpc() != nil {
		p.Conditions = append(p.Conditions, "gRPC")
	}
	return p
}

// describeCondition is "header x-a: 1", "header x-a that matches 1+", "header x-a" where any value will do.
func describeCondition(what, is string, m *matcherv3.StringMatcher) string {
	switch value := m.GetMatchPattern().(type) {
	case nil:
		return what
	case *matcherv3.StringMatcher_Exact:
		return what + is + value.Exact
	case *matcherv3.StringMatcher_SafeRegex:
		return what + " that matches " + value.SafeRegex.GetRegex()
	}
	return what + is + describeMatcher(m)
}
