package simulate

import (
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/internal/core/request"
)

// rewriteHost changes the Host header. A share's own rewrite comes first.
func (s *simulation) rewriteHost(r *request.Request, a *routev3.RouteAction, own string) {
	host := r.Host
	switch {
	case own != "":
		host = own
	case a.GetHostRewriteLiteral() != "":
		host = a.GetHostRewriteLiteral()
	case a.GetHostRewriteHeader() != "":
		if value, found := s.current.HeaderValue(a.GetHostRewriteHeader()); found && value != "" {
			host = value
		}
	}
	if host != r.Host && a.GetAppendXForwardedHost() {
		r.Header.Add("X-Forwarded-Host", r.Host)
		joinHeaders(r.Header)
	}
	r.Host = host
}

// rewritePath changes the path, and keeps the query.
func (s *simulation) rewritePath(r *request.Request, a *routev3.RouteAction, m *routev3.RouteMatch) {
	path := r.URLPath()
	switch {
	case a.GetPathRewrite() != "":
		text, ok := formatter{source: s.current}.expandFormat(a.GetPathRewrite())
		if !ok {
			s.noteNotSimulated("RouteAction.path_rewrite " + a.GetPathRewrite())
			return
		}
		path = text
	case a.GetPrefixRewrite() != "":
		path = replacePrefix(path, m, a.GetPrefixRewrite())
	case a.GetRegexRewrite() != nil:
		path = s.replaceRegex(path, a.GetRegexRewrite())
	}
	r.Path = r.WithPath(path)
}

// replacePrefix puts a text in place of what the route matched: of a prefix its characters, else the whole path.
func replacePrefix(path string, m *routev3.RouteMatch, to string) string {
	matched := len(path)
	switch p := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		matched = len(p.Prefix)
	case *routev3.RouteMatch_PathSeparatedPrefix:
		matched = len(p.PathSeparatedPrefix)
	}
	return to + path[matched:]
}

// replaceRegex replaces all that a regular expression matches. RE2 writes a group as \1.
func (s *simulation) replaceRegex(path string, r *matcherv3.RegexMatchAndSubstitute) string {
	re, err := regexp.Compile(r.GetPattern().GetRegex())
	if err != nil {
		s.noteNotSimulated("RegexMatchAndSubstitute " + r.GetPattern().GetRegex())
		return path
	}
	return re.ReplaceAllString(path, goSubstitution(r.GetSubstitution()))
}

// goSubstitution is an RE2 substitution in Go's words.
func goSubstitution(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '$':
			b.WriteString("$$")
		case text[i] == '\\' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9':
			b.WriteString("${" + text[i+1:i+2] + "}")
			i++
		case text[i] == '\\' && i+1 < len(text):
			b.WriteByte(text[i+1])
			i++
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
