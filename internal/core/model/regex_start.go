package model

import (
	"strings"
	"unicode"
)

// RegexStart is the literal text that an expression of a path begins with, valid or not: whatever it matches begins
// with this text. False if there is none, or nothing but the slash that every path begins with.
func RegexStart(expr string) (start string, found bool) {
	rest := strings.TrimPrefix(expr, "^")
	if hasAlternatives(rest) {
		return "", false
	}
	var text []byte
	for rest != "" {
		c, escaped := rest[0], rest[0] == '\\' && len(rest) > 1
		if escaped {
			c = rest[1]
		}
		if c > unicode.MaxASCII || escaped && isWord(c) || !escaped && strings.IndexByte(`\.+*?()|[]{}^$`, c) >= 0 {
			break
		}
		rest = rest[1:]
		if escaped {
			rest = rest[1:]
		}
		if rest != "" && strings.IndexByte("*?{", rest[0]) >= 0 {
			break // it may be left out
		}
		text = append(text, c)
	}
	return string(text), len(text) > 1 && text[0] == '/'
}

// hasAlternatives tells whether an expression as a whole may be one of several, outside its groups. In a class no
// character has another meaning but the bracket that ends it, which may also be the first one in it.
func hasAlternatives(expr string) bool {
	depth := 0
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		case '[':
			i = classEnd(expr, i)
		case '|':
			if depth <= 0 {
				return true
			}
		}
	}
	return false
}

// classEnd is the place of the bracket that ends the class that begins at a place; that place if none does.
func classEnd(expr string, at int) int {
	i := at + 1
	if i < len(expr) && expr[i] == '^' {
		i++
	}
	for first := i; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			i++
		case '[':
			if end := strings.Index(expr[i:], ":]"); strings.HasPrefix(expr[i:], "[:") && end > 0 {
				i += end + 1
			}
		case ']':
			if i > first {
				return i
			}
		}
	}
	return at
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// WithoutRegex is a match without expressions, so that proxies have little to keep and nothing to refuse: any value in
// place of one of a header or of a query parameter, what it begins with in place of one of a path. Not ok: of its path
// nothing is known, or it takes no request anyhow.
func (m Match) WithoutRegex() (wide Match, ok bool) {
	if !m.canDropRegex() {
		return m, false
	}
	if m.Path.Type == PathRegex {
		m.Path.Type = PathStart
	}
	m.Headers, m.Query = dropRegexValues(m.Headers), dropRegexValues(m.Query)
	return m, true
}

// canDropRegex tells whether there is a match WithoutRegex.
func (m Match) canDropRegex() bool {
	switch g := m.GRPC; {
	case g != nil && (g.Service != "" || g.Method != "") && (g.Regex || g.Service == ""), m.Path.Type == PathNone:
		return false
	case m.Path.Type == PathRegex:
		_, known := RegexStart(m.Path.Value)
		return known
	}
	return true
}

func dropRegexValues(list []ValueMatch) []ValueMatch {
	var read []ValueMatch
	for _, v := range list {
		if v.Regex {
			v.Value = ""
		}
		read = append(read, v)
	}
	return read
}
