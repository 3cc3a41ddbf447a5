package simulate

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/internal/core/request"
)

// findMismatches tells why a route doesn't take the request; decided is false if that can't be told: all else holds,
// and it has a condition that is not simulated. Fractions are not looked at.
func (s *simulation) findMismatches(m *routev3.RouteMatch) (misses []string, decided bool) {
	probe := &simulation{config: s.config, sent: s.sent, current: s.current}
	probe.noteUnknownFields(m, "prefix", "path", "safe_regex", "path_separated_prefix", "case_sensitive", "headers",
		"query_parameters", "grpc", "runtime_fraction")
	add := func(miss string) {
		if miss != "" {
			misses = append(misses, miss)
		}
	}
	add(probe.pathMismatch(m))
	for _, h := range m.GetHeaders() {
		add(probe.headerMismatch(h))
	}
	query, hasQuery := queryOf(s.current)
	for _, q := range m.GetQueryParameters() {
		add(probe.queryMismatch(query, hasQuery, q))
	}
	if m.GetGrpc() != nil && !isGRPC(s.current) {
		add("it is not a gRPC request")
	}
	if open := probe.result.NotSimulated; len(misses) == 0 && len(open) > 0 {
		for _, name := range open {
			s.noteNotSimulated(name)
		}
		return nil, false
	}
	return misses, true
}

func isGRPC(r request.Request) bool {
	kind := r.Header.Get("Content-Type")
	return kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+")
}

// pathMismatch compares paths without the query.
func (s *simulation) pathMismatch(m *routev3.RouteMatch) string {
	path := s.current.URLPath()
	same, has := func(a, b string) bool { return a == b }, strings.HasPrefix
	if m.GetCaseSensitive() != nil && !m.GetCaseSensitive().GetValue() {
		same = strings.EqualFold
		has = func(a, b string) bool { return len(a) >= len(b) && strings.EqualFold(a[:len(b)], b) }
	}
	switch p := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		if !has(path, p.Prefix) {
			return fmt.Sprintf("path %s does not begin with %s", path, p.Prefix)
		}
	case *routev3.RouteMatch_PathSeparatedPrefix:
		if rest := len(p.PathSeparatedPrefix); !has(path, p.PathSeparatedPrefix) || len(path) > rest && path[rest] != '/' {
			return fmt.Sprintf("path %s is not below %s", path, p.PathSeparatedPrefix)
		}
	case *routev3.RouteMatch_Path:
		if !same(path, p.Path) {
			if !strings.HasPrefix(p.Path, "/") {
				return "path " + path + " is not matched: no path is"
			}
			return fmt.Sprintf("path %s is not %s", path, p.Path)
		}
	case *routev3.RouteMatch_SafeRegex:
		matches, known := s.config.compileRegex(p.SafeRegex.GetRegex()).matchString(path)
		if !known {
			s.noteNotSimulated("RouteMatch.safe_regex without case")
			return ""
		}
		if !matches {
			return fmt.Sprintf("path %s does not match %s", path, p.SafeRegex.GetRegex())
		}
	}
	return ""
}

// headerMismatch tells why a header doesn't match; "" if it does, or if that is not simulated.
func (s *simulation) headerMismatch(h *routev3.HeaderMatcher) string {
	value, found := s.current.HeaderValue(h.GetName())
	if request.OnlyProxyKnows(value) {
		s.noteNotSimulated(fmt.Sprintf("HeaderMatcher of %s, which the proxy itself states", h.GetName()))
		return ""
	}
	known, holds, want := true, false, ""
	switch m := h.GetHeaderMatchSpecifier().(type) {
	case *routev3.HeaderMatcher_StringMatch:
		holds, known = s.matchAny(m.StringMatch, s.current.HeaderValues(h.GetName()))
		want = describeMatcher(m.StringMatch)
	case *routev3.HeaderMatcher_PresentMatch:
		holds, want = found == m.PresentMatch, "one"
		found = true
	case *routev3.HeaderMatcher_RangeMatch:
		n, err := strconv.ParseInt(value, 10, 64)
		holds = err == nil && n >= m.RangeMatch.GetStart() && n < m.RangeMatch.GetEnd()
		want = fmt.Sprintf("%d to %d", m.RangeMatch.GetStart(), m.RangeMatch.GetEnd()-1)
	case nil:
		holds, want = found, "one"
	default:
		known = false
	}
	if !known {
		s.noteNotSimulated(fmt.Sprintf("HeaderMatcher of %s", h.GetName()))
		return ""
	}
	name := strings.TrimPrefix(h.GetName(), ":")
	switch {
	case !found && h.GetTreatMissingHeaderAsEmpty():
	case !found && len(s.sent.HeaderValues(h.GetName())) > 0:
		return fmt.Sprintf("header %s is removed by the proxy, want %s", name, want)
	case !found:
		// An absent header matches nothing, and does not match the inverse either.
		return fmt.Sprintf("header %s is absent, want %s", name, want)
	}
	if holds != h.GetInvertMatch() {
		return ""
	}
	kind := "header "
	if strings.HasPrefix(h.GetName(), ":") {
		kind = ""
	}
	if h.GetInvertMatch() {
		want = "anything but " + want
	}
	return fmt.Sprintf("%s%s is %q, want %s", kind, name, value, want)
}

func (s *simulation) queryMismatch(query url.Values, hasQuery bool, q *routev3.QueryParameterMatcher) string {
	values, found := query[q.GetName()]
	if !hasQuery || !found {
		if m, ok := q.GetQueryParameterMatchSpecifier().(*routev3.QueryParameterMatcher_PresentMatch); ok && !m.PresentMatch {
			return ""
		}
		return fmt.Sprintf("query parameter %s is absent", q.GetName())
	}
	switch m := q.GetQueryParameterMatchSpecifier().(type) {
	case *routev3.QueryParameterMatcher_StringMatch:
		holds, known := s.matchValue(m.StringMatch, values[0])
		if !known {
			s.noteNotSimulated(fmt.Sprintf("QueryParameterMatcher of %s", q.GetName()))
			return ""
		}
		if !holds {
			return fmt.Sprintf("query parameter %s is %q, want %s", q.GetName(), values[0], describeMatcher(m.StringMatch))
		}
	case *routev3.QueryParameterMatcher_PresentMatch:
		if !m.PresentMatch {
			return fmt.Sprintf("query parameter %s is there", q.GetName())
		}
	}
	return ""
}

// matchAny is matchValue of any of several values: of a header that is there more than once each is compared by
// itself.
func (s *simulation) matchAny(m *matcherv3.StringMatcher, values []string) (matches, known bool) {
	if len(values) == 0 {
		return s.matchValue(m, "")
	}
	for _, value := range values {
		if matches, known = s.matchValue(m, value); matches || !known {
			break
		}
	}
	return matches, known
}

// matchValue tells whether a value matches; known is false for a matcher that is not simulated.
func (s *simulation) matchValue(m *matcherv3.StringMatcher, value string) (matches, known bool) {
	fold := func(text string) string { return text }
	if m.GetIgnoreCase() {
		fold = strings.ToLower
	}
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return fold(value) == fold(p.Exact), true
	case *matcherv3.StringMatcher_Prefix:
		return strings.HasPrefix(fold(value), fold(p.Prefix)), true
	case *matcherv3.StringMatcher_Suffix:
		return strings.HasSuffix(fold(value), fold(p.Suffix)), true
	case *matcherv3.StringMatcher_Contains:
		return strings.Contains(fold(value), fold(p.Contains)), true
	case *matcherv3.StringMatcher_SafeRegex:
		return s.config.compileRegex(p.SafeRegex.GetRegex()).matchString(value)
	}
	return false, false
}

func describeMatcher(m *matcherv3.StringMatcher) string {
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return strconv.Quote(p.Exact)
	case *matcherv3.StringMatcher_Prefix:
		return strconv.Quote(p.Prefix) + "..."
	case *matcherv3.StringMatcher_Suffix:
		return "..." + strconv.Quote(p.Suffix)
	case *matcherv3.StringMatcher_Contains:
		return "..." + strconv.Quote(p.Contains) + "..."
	case *matcherv3.StringMatcher_SafeRegex:
		return "what matches " + p.SafeRegex.GetRegex()
	}
	return "something else"
}

// queryOf is the request's query as Envoy compares it: nothing in it is unescaped.
func queryOf(r request.Request) (url.Values, bool) {
	_, text, found := strings.Cut(r.Path, "?")
	values := url.Values{}
	for _, pair := range strings.Split(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		values.Add(name, value)
	}
	return values, found
}
