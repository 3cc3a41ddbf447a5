package model

import (
	"slices"
	"strings"
)

// Covers tells whether a match surely takes every request that another one takes. Only the simplest expressions are
// known ("/api/.*"): where nothing is known, it is false. A match that takes no request is never covered, and covers
// nothing.
func (m Match) Covers(other Match) bool {
	if m.Path.Type == PathNone || other.Path.Type == PathNone || (m.GRPC == nil) != (other.GRPC == nil) {
		return false
	}
	if m.Method != "" && m.Method != other.Method {
		return false
	}
	if m.GRPC == nil && !m.Path.matchesAllPaths() && !m.Path.matchedTexts().includesAll(other.Path.matchedTexts()) {
		return false
	}
	if m.GRPC != nil && !m.GRPC.coversGRPC(*other.GRPC) {
		return false
	}
	return coverValues(m.Headers, other.Headers) && coverValues(m.Query, other.Query)
}

func (m GRPCMatch) coversGRPC(other GRPCMatch) bool {
	part := func(wide, narrow string) bool {
		return wide == "" || narrow != "" && textSetOf(wide, m.Regex).includesAll(textSetOf(narrow, other.Regex))
	}
	return part(m.Service, other.Service) && part(m.Method, other.Method)
}

// coverValues tells whether all that wide asks for is there where all that narrow asks for is.
func coverValues(wide, narrow []ValueMatch) bool {
	for _, w := range wide {
		at := slices.IndexFunc(narrow, func(n ValueMatch) bool { return n.Name == w.Name })
		if at < 0 || !textSetOf(w.Value, w.Regex).includesAll(textSetOf(narrow[at].Value, narrow[at].Regex)) {
			return false
		}
	}
	return true
}

// textSet is a set of texts, as far as it is known.
type textSet struct {
	kind textSetKind
	text string
}

type textSetKind uint8

const (
	exactText    textSetKind = iota // that one only
	pathPrefix                      // it, and all that go on with a slash: a path's prefix, without the slash at its end
	textPrefix                      // all that begin with it
	unknownTexts                    // those that an expression matches: which ones is not known
)

// matchesAllPaths tells whether it takes every path. All begin with a slash.
func (p PathMatch) matchesAllPaths() bool {
	all := p.matchedTexts()
	return all == (textSet{pathPrefix, ""}) || all == (textSet{textPrefix, ""}) || all == (textSet{textPrefix, "/"})
}

// matchedTexts is the set of paths that it takes.
func (p PathMatch) matchedTexts() textSet {
	switch p.Type {
	case PathExact:
		return textSet{exactText, p.Value}
	case PathRegex:
		return textSetOf(p.Value, true)
	case PathStart:
		start, _ := RegexStart(p.Value)
		return textSet{textPrefix, start}
	}
	return textSet{pathPrefix, strings.TrimRight(p.Value, "/")}
}

func textSetOf(value string, regex bool) textSet {
	if !regex {
		return textSet{exactText, value}
	}
	if literal, is := strings.CutSuffix(value, ".*"); is {
		if text, is := unescapeLiteral(literal); is {
			return textSet{textPrefix, text}
		}
	}
	return textSet{unknownTexts, value}
}

// unescapeLiteral is the one text that an expression matches, if it is no more than a text: letters and signs that mean
// themselves, a backslash before others.
func unescapeLiteral(expr string) (text string, is bool) {
	var b strings.Builder
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		if c == '\\' && i+1 < len(expr) && strings.IndexByte(`.-/+*?()[]{}|^$`, expr[i+1]) >= 0 {
			i++
			c = expr[i]
		} else if !isLiteralChar(c) {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

func isLiteralChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-_~%:=@,", c) >= 0
}

// includesAll tells whether a set surely has all texts of another one. No text here has a line break, which a dot would
// not match: neither paths nor values of headers can have one.
func (s textSet) includesAll(other textSet) bool {
	if s == other || s == (textSet{textPrefix, ""}) {
		return true
	}
	within := strings.HasPrefix(other.text, s.text)
	switch {
	case other.kind == unknownTexts:
		return false
	case s.kind == pathPrefix && other.kind == textPrefix:
		return strings.HasPrefix(other.text, s.text+"/")
	case s.kind == pathPrefix:
		return within && (len(other.text) == len(s.text) || other.text[len(s.text)] == '/')
	case s.kind == textPrefix:
		return within
	}
	return false
}
