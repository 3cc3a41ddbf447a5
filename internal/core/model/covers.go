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
	if m.GRPC == nil && !m.Path.every() && !m.Path.texts().cover(other.Path.texts()) {
		return false
	}
	if m.GRPC != nil && !m.GRPC.covers(*other.GRPC) {
		return false
	}
	return coverValues(m.Headers, other.Headers) && coverValues(m.Query, other.Query)
}

func (m GRPCMatch) covers(other GRPCMatch) bool {
	part := func(wide, narrow string) bool {
		return wide == "" || narrow != "" && textsOf(wide, m.Regex).cover(textsOf(narrow, other.Regex))
	}
	return part(m.Service, other.Service) && part(m.Method, other.Method)
}

// coverValues tells whether all that wide asks for is there where all that narrow asks for is.
func coverValues(wide, narrow []ValueMatch) bool {
	for _, w := range wide {
		at := slices.IndexFunc(narrow, func(n ValueMatch) bool { return n.Name == w.Name })
		if at < 0 || !textsOf(w.Value, w.Regex).cover(textsOf(narrow[at].Value, narrow[at].Regex)) {
			return false
		}
	}
	return true
}

// texts is a set of texts, as far as it is known.
type texts struct {
	form textForm
	text string
}

type textForm uint8

const (
	theText textForm = iota // that one only
	below                   // it, and all that go on with a slash: a path's prefix, without the slash at its end
	begins                  // all that begin with it
	matches                 // those that an expression matches: which ones is not known
)

// every tells whether it takes every path. All begin with a slash.
func (p PathMatch) every() bool {
	all := p.texts()
	return all == (texts{below, ""}) || all == (texts{begins, ""}) || all == (texts{begins, "/"})
}

// texts is the set of paths that it takes.
func (p PathMatch) texts() texts {
	switch p.Type {
	case PathExact:
		return texts{theText, p.Value}
	case PathRegex:
		return textsOf(p.Value, true)
	case PathStart:
		start, _ := RegexStart(p.Value)
		return texts{begins, start}
	}
	return texts{below, strings.TrimRight(p.Value, "/")}
}

func textsOf(value string, regex bool) texts {
	if !regex {
		return texts{theText, value}
	}
	if literal, is := strings.CutSuffix(value, ".*"); is {
		if text, is := unescaped(literal); is {
			return texts{begins, text}
		}
	}
	return texts{matches, value}
}

// unescaped is the one text that an expression matches, if it is no more than a text: letters and signs that mean
// themselves, a backslash before others.
func unescaped(expr string) (text string, is bool) {
	var b strings.Builder
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		if c == '\\' && i+1 < len(expr) && strings.IndexByte(`.-/+*?()[]{}|^$`, expr[i+1]) >= 0 {
			i++
			c = expr[i]
		} else if !meansItself(c) {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

func meansItself(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-_~%:=@,", c) >= 0
}

// cover tells whether a set surely has all texts of another one. No text here has a line break, which a dot would not
// match: neither paths nor values of headers can have one.
func (s texts) cover(other texts) bool {
	if s == other || s == (texts{begins, ""}) {
		return true
	}
	within := strings.HasPrefix(other.text, s.text)
	switch {
	case other.form == matches:
		return false
	case s.form == below && other.form == begins:
		return strings.HasPrefix(other.text, s.text+"/")
	case s.form == below:
		return within && (len(other.text) == len(s.text) || other.text[len(s.text)] == '/')
	case s.form == begins:
		return within
	}
	return false
}
