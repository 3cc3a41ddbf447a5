package simulate

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp/syntax"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/internal/core/request"
)

// Witnesses are requests that show what a route's match takes at a domain: one that it takes, the first, and near
// misses: another path, each header and query parameter left out, another method. from is where they enter (Entrances).
func Witnesses(from request.Request, domain string, m *routev3.RouteMatch) []request.Request {
	taken := request.NewGetRequest(from, domain)
	path, others := examplePaths(m)
	values := url.Values{}
	for _, h := range m.GetHeaders() {
		switch value := exampleOf(h.GetStringMatch()); {
		case h.GetName() == ":method":
			taken.Method = value
		case h.GetInvertMatch():
		case isHost(h):
			taken.Host = value
		default:
			taken.Header.Set(h.GetName(), value)
		}
	}
	for _, q := range m.GetQueryParameters() {
		values.Set(q.GetName(), exampleOf(q.GetStringMatch()))
	}
	if m.GetGrpc() != nil {
		taken.Method = http.MethodPost
		taken.Header.Set("Content-Type", "application/grpc")
	}
	at := func(path string, values url.Values) request.Request {
		r := taken.Clone()
		if r.Path = path; len(values) > 0 {
			r.Path += "?" + values.Encode()
		}
		return r
	}
	list := []request.Request{at(path, values)}
	for _, other := range others {
		list = append(list, at(other, values))
	}
	for _, name := range request.HeaderNames(taken.Header) {
		r := at(path, values)
		r.Header.Del(name)
		list = append(list, r)
	}
	if host := request.HostOf(domain); taken.Host != host {
		r := at(path, values)
		r.Host = host
		list = append(list, r)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fewer := url.Values{}
		for other, v := range values {
			if other != name {
				fewer[other] = v
			}
		}
		list = append(list, at(path, fewer))
	}
	r := at(path, values)
	if r.Method = http.MethodPost; taken.Method == http.MethodPost {
		r.Method = http.MethodGet
	}
	return append(list, r)
}

// ComparesHost tells whether a match compares the host that is asked for.
func ComparesHost(m *routev3.RouteMatch) bool { return slices.ContainsFunc(m.GetHeaders(), isHost) }

// isHost tells whether a header that is compared is the host that was asked for.
func isHost(h *routev3.HeaderMatcher) bool {
	return h.GetName() == ":authority" || strings.EqualFold(h.GetName(), "host")
}

// examplePaths are a path that a match takes, and others that are near.
func examplePaths(m *routev3.RouteMatch) (path string, near []string) {
	switch p := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		path = cmp.Or(p.Prefix, "/")
		return path, []string{strings.TrimRight(path, "/") + "/witness"}
	case *routev3.RouteMatch_PathSeparatedPrefix:
		return p.PathSeparatedPrefix, []string{p.PathSeparatedPrefix + "/", p.PathSeparatedPrefix + "/witness",
			p.PathSeparatedPrefix + "witness"}
	case *routev3.RouteMatch_Path:
		if !strings.HasPrefix(p.Path, "/") {
			return "/", nil // no request has such a path
		}
		return p.Path, []string{p.Path + "/", p.Path + "witness"}
	case *routev3.RouteMatch_SafeRegex:
		return escapePath(exampleOfRegex(p.SafeRegex.GetRegex(), "/")), nil
	}
	return "/", nil
}

func escapePath(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Path: path}).EscapedPath()
}

// exampleOf is a value that a matcher takes; of none "witness".
func exampleOf(m *matcherv3.StringMatcher) string {
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return p.Exact
	case *matcherv3.StringMatcher_Prefix:
		return p.Prefix
	case *matcherv3.StringMatcher_Suffix:
		return p.Suffix
	case *matcherv3.StringMatcher_Contains:
		return p.Contains
	case *matcherv3.StringMatcher_SafeRegex:
		return exampleOfRegex(p.SafeRegex.GetRegex(), "witness")
	}
	return "witness"
}

// exampleOfRegex is a short text that an expression matches, or fallback.
func exampleOfRegex(expression, fallback string) string {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return fallback
	}
	var b strings.Builder
	appendExample(&b, re)
	return b.String()
}

func appendExample(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(pickRune(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('w')
	case syntax.OpCapture, syntax.OpPlus:
		appendExample(b, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			appendExample(b, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			appendExample(b, sub)
		}
	case syntax.OpAlternate:
		appendExample(b, re.Sub[0])
	}
}

// pickRune is a character of a class, a letter or a digit if it has one.
func pickRune(class []rune) rune {
	for _, want := range "aA0" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= want && want <= class[i+1] {
				return want
			}
		}
	}
	return class[0]
}
