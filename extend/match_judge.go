package extend

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
)

// Truth is what can be told of a statement. If several statements must all hold, it is the least; if one of several
// must, the greatest; for the opposite, it is -t.
type Truth int8

// The truths.
const (
	CertainlyNot Truth = iota - 1
	Unknown
	Certainly
)

// Matches tells whether a match takes a request, by what the request itself says: not by its client's address, token,
// user or certificate, nor by an expression. late: authentication came before, which may have changed headers and
// query. It compares as data planes do; where one may compare in another way, it is Unknown.
func (m RequestMatch) Matches(q Request, late bool) Truth {
	t := m.RequestParts.matchesParts(q, late)
	if m.Not != nil {
		t = min(t, -m.Not.matchesParts(q, late))
	}
	return t
}

func (p RequestParts) matchesParts(q Request, late bool) Truth {
	t := Certainly
	if len(p.Hosts) > 0 {
		t = min(t, anyOf(p.Hosts, func(name string) Truth { return hostIs(name, q.Host) }))
	}
	if len(p.Methods) > 0 {
		t = min(t, truthOf(slices.Contains(p.Methods, q.Method)))
	}
	if len(p.Paths) > 0 {
		t = min(t, anyOf(p.Paths, func(m PathMatch) Truth { return m.matchesPath(q.URLPath()) }))
	}
	for _, h := range p.Headers {
		t = min(t, h.inHeader(q, late))
	}
	for _, n := range p.Query {
		t = min(t, n.inQuery(q, late))
	}
	if len(p.ClientCIDRs)+len(p.Claims)+len(p.Users)+len(p.Certificates) > 0 || p.CEL != "" {
		t = min(t, Unknown)
	}
	return t
}

func truthOf(holds bool) Truth {
	if holds {
		return Certainly
	}
	return CertainlyNot
}

func anyOf[T any](list []T, of func(T) Truth) Truth {
	t := CertainlyNot
	for _, v := range list {
		t = max(t, of(v))
	}
	return t
}

// hostIs compares as the expression of host does.
func hostIs(name, host string) Truth {
	if !isASCII(name) || !isASCII(host) {
		return Unknown
	}
	host = strings.ToLower(host)
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
		host = host[:i]
	}
	same := func(host string) bool {
		suffix, wildcard := strings.CutPrefix(strings.ToLower(name), "*")
		return host == suffix && !wildcard || wildcard && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
	}
	return truthOf(same(host) || same(strings.TrimSuffix(host, ".")))
}

func (p PathMatch) matchesPath(path string) Truth {
	switch p.Type {
	case PathExact:
		return truthOf(path == p.Value || p.Value == "/" && path == "//")
	case PathPrefix:
		start := strings.TrimRight(p.Value, "/")
		return truthOf(start == "" || path == start || strings.HasPrefix(path, start+"/"))
	}
	return matchesAll(p.Value, path)
}

// clientHeaders are headers that clients add by themselves.
var clientHeaders = strings.Fields(`accept accept-encoding accept-language connection content-length content-type
	transfer-encoding user-agent`)

func (n NamedMatch) inHeader(q Request, late bool) Truth {
	name := strings.ToLower(n.Name)
	values := q.Header.Values(name)
	switch {
	case late, name == "host", len(values) == 0 && slices.Contains(clientHeaders, name):
		return Unknown
	case name == "cookie" && len(values) > 1: // one in HTTP/2
		return Unknown
	case slices.ContainsFunc(values, func(v string) bool {
		return v == "" || v != strings.TrimSpace(v) || request.OnlyProxyKnows(v)
	}):
		return Unknown
	case n.Type == Present:
		return truthOf(len(values) > 0)
	}
	return anyOf(values, func(value string) Truth {
		return anyOf(n.Values, func(want string) Truth { return compareText(n.Type, want, value, n.IgnoreCase) })
	})
}

func (n NamedMatch) inQuery(q Request, late bool) Truth {
	switch {
	case late:
		return Unknown
	case !strings.Contains(q.Path, "?"):
		return CertainlyNot
	}
	return matchesAll(QueryExpression(n), q.Path)
}

// compareText is as text compares.
func compareText(t MatchType, want, value string, ignoreCase bool) Truth {
	if ignoreCase && (!isASCII(want) || !isASCII(value)) {
		return Unknown
	}
	if t == RegularExpression {
		return matchesAll(Expression(want, ignoreCase), value)
	}
	if ignoreCase {
		want, value = strings.ToLower(want), strings.ToLower(value)
	}
	switch t {
	case Exact:
		return truthOf(value == want)
	case Prefix:
		return truthOf(strings.HasPrefix(value, want))
	case Suffix:
		return truthOf(strings.HasSuffix(value, want))
	case Contains:
		return truthOf(strings.Contains(value, want))
	}
	return Unknown
}

// matchesAll tells whether an expression matches all of a value. For ASCII, Go's syntax is RE2's.
func matchesAll(expr, value string) Truth {
	re, err := regexp.Compile(`\A(?:` + model.ClosedRegex(expr) + `)\z`)
	if err != nil || !isASCII(expr) || !isASCII(value) {
		return Unknown
	}
	return truthOf(re.MatchString(value))
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
