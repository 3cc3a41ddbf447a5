package simulate

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

// Phrase tells what a match takes, in words.
type Phrase struct {
	Path       string   // "paths below /cart"
	Conditions []string // "method GET", "header x-a: 1"
}

// String is the whole: "paths below /cart, method GET".
func (p Phrase) String() string { return strings.Join(append([]string{p.Path}, p.Conditions...), ", ") }

// Words tells what a match takes.
func Words(m *routev3.RouteMatch) (p Phrase) {
	switch path := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		if p.Path = "paths that begin with " + path.Prefix; path.Prefix == "/" {
			p.Path = "every path"
		}
	case *routev3.RouteMatch_PathSeparatedPrefix:
		p.Path = "paths below " + path.PathSeparatedPrefix
	case *routev3.RouteMatch_Path:
		p.Path = "path " + path.Path
	case *routev3.RouteMatch_SafeRegex:
		p.Path = "paths that match " + path.SafeRegex.GetRegex()
	default:
		p.Path = "some paths"
	}
	for _, h := range m.GetHeaders() {
		if name, found := strings.CutPrefix(h.GetName(), ":"); found {
			p.add(name, " ", h.GetStringMatch())
		} else {
			p.add("header "+name, ": ", h.GetStringMatch())
		}
	}
	for _, q := range m.GetQueryParameters() {
		p.add("query parameter "+q.GetName(), ": ", q.GetStringMatch())
	}
	if m.GetGrpc() != nil {
		p.Conditions = append(p.Conditions, "gRPC")
	}
	return p
}

// add adds a condition: "header x-a: 1", "header x-a that matches 1+".
func (p *Phrase) add(what, is string, m *matcherv3.StringMatcher) {
	switch value := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		what += is + value.Exact
	case *matcherv3.StringMatcher_SafeRegex:
		what += " that matches " + value.SafeRegex.GetRegex()
	default:
		what += is + wanted(m)
	}
	p.Conditions = append(p.Conditions, what)
}
