package gateway

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cardea.dev/cardea/internal/core/model"
)

// readMatches finds what the schema can't: an expression that is invalid, or too large. Nobody knows which requests it
// would match, but each of them would have the header or query parameter. So all requests that have it get the rule's
// error, and none of them falls through to a wider rule. If the expression of a path begins with literal text, all
// paths that begin with this text get the error; else such a match takes no request.
func readMatches(list []model.Match) (read []model.Match, problems []problem) {
	read = make([]model.Match, len(list))
	for i, m := range list {
		var wrong []problem
		read[i], wrong = readMatch(m)
		problems = append(problems, below(fmt.Sprintf("[%d]", i), wrong)...)
	}
	return read, problems
}

func readMatch(m model.Match) (model.Match, []problem) {
	var problems []problem
	var invalid string
	check := func(field, expression string) {
		if wrong := invalidRegex(expression); wrong != "" && invalid == "" {
			invalid = "its regular expression " + wrong
			problems = append(problems, unsupported(field, invalid+"; "+instead(m, expression)))
		}
	}
	if m.Path.Type == model.PathRegex {
		problems = notEncoded(".path.value", m.Path.Value)
		check(".path.value", m.Path.Value)
	}
	if g := m.GRPC; g != nil && g.Regex {
		if g.Service != "" {
			check(".method.service", g.Service)
		}
		if g.Method != "" {
			check(".method.method", g.Method)
		}
	}
	switch _, known := model.RegexStart(m.Path.Value); {
	case invalid == "":
	case known && m.GRPC == nil:
		m.Path.Type = model.PathStart
	default:
		m.Path, m.GRPC = model.PathMatch{Type: model.PathNone, Value: invalid}, nil
	}
	var wrong, also []problem
	m.Headers, wrong = readValues(m.Headers)
	m.Query, also = readValues(m.Query)
	return m, slices.Concat(problems, below(".headers", wrong), below(".queryParams", also))
}

// instead says which requests get the rule's error, where a path's expression is invalid.
func instead(m model.Match, expression string) string {
	start, known := model.RegexStart(expression)
	switch {
	case m.GRPC != nil || !known:
		return "which requests it is for is not known, so it takes none, and they go to other rules"
	case m.Method != "" || len(m.Headers)+len(m.Query) > 0:
		return fmt.Sprintf("what begins with %s, and is as the match says besides, is answered with 500", start)
	}
	return fmt.Sprintf("what begins with %s is answered with 500", start)
}

// readValues takes any value in place of an invalid expression.
func readValues(list []model.ValueMatch) (read []model.ValueMatch, problems []problem) {
	read = list
	for i, v := range list {
		if !v.Regex {
			continue
		}
		if wrong := invalidRegex(v.Value); wrong != "" {
			read = slices.Clone(read)
			read[i].Value = ""
			problems = append(problems, unsupported("", fmt.Sprintf(
				"the regular expression %.200q of %s %s, so any value of it is taken, and answered with an error",
				v.Value, v.Name, wrong)))
		}
	}
	return read, problems
}

// invalidRegex says why an expression can't be served; "" if it can.
func invalidRegex(expression string) string {
	if err := model.CheckRegex(expression); err != nil {
		return fmt.Sprintf("is invalid (%.300s)", err)
	}
	return ""
}

// notEncoded warns of what can be in no path, so that an expression of one never matches it: a character beyond ASCII
// stands there percent-encoded.
func notEncoded(field, expression string) []problem {
	i := strings.IndexFunc(expression, func(c rune) bool { return c > unicode.MaxASCII })
	if i < 0 {
		return nil
	}
	c, _ := utf8.DecodeRuneInString(expression[i:])
	return []problem{{
		field: field, severity: model.Warning,
		message: fmt.Sprintf("%.200q: no path has %c in it, it would be encoded: write %s", expression, c,
			url.PathEscape(string(c))),
	}}
}
