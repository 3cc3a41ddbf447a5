package route

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// readMatches finds what the schema can't: an expression that is invalid, or too large. Nobody knows which requests it
// would match, but each of them would have the header or query parameter. So all requests that have it get the rule's
// error, and none of them falls through to a wider rule. If the expression of a path begins with literal text, all
// paths that begin with this text get the error; else such a match takes no request.
func readMatches(list []model.Match) (read []model.Match, problems []problem.Problem) {
	read = make([]model.Match, len(list))
	for i, m := range list {
		var wrong []problem.Problem
		read[i], wrong = readMatch(m)
		problems = append(problems, problem.PrefixFields(fmt.Sprintf("[%d]", i), wrong)...)
	}
	return read, problems
}

func readMatch(m model.Match) (model.Match, []problem.Problem) {
	var problems []problem.Problem
	var invalid string
	check := func(field, expression string) {
		if wrong := invalidRegex(expression); wrong != "" && invalid == "" {
			invalid = "its regular expression " + wrong
			problems = append(problems, problem.NewUnsupported(field, invalid+"; "+describeInvalidMatch(m, expression)))
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
	var wrong, also []problem.Problem
	m.Headers, wrong = readValues(m.Headers)
	m.Query, also = readValues(m.Query)
	return m, slices.Concat(problems, problem.PrefixFields(".headers", wrong), problem.PrefixFields(".queryParams", also))
}

// describeInvalidMatch says which requests get the rule's error, where a path's expression is invalid.
func describeInvalidMatch(m model.Match, expression string) string {
	start, known := model.RegexStart(expression)
	switch {
	case m.GRPC != nil || !known:
		return "the match is ignored, and its requests go to other rules"
	case m.Method != "" || len(m.Headers)+len(m.Query) > 0:
		return fmt.Sprintf("requests with a path that begins with %s get 500 if the rest of the match fits", start)
	}
	return fmt.Sprintf("requests with a path that begins with %s get 500", start)
}

// readValues takes any value in place of an invalid expression.
func readValues(list []model.ValueMatch) (read []model.ValueMatch, problems []problem.Problem) {
	read = list
	for i, v := range list {
		if !v.Regex {
			continue
		}
		if wrong := invalidRegex(v.Value); wrong != "" {
			read = slices.Clone(read)
			read[i].Value = ""
			problems = append(problems, problem.NewUnsupported("", fmt.Sprintf(
				"the regular expression %.200q of %s %s; requests with any value there get an error",
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
func notEncoded(field, expression string) []problem.Problem {
	i := strings.IndexFunc(expression, func(c rune) bool { return c > unicode.MaxASCII })
	if i < 0 {
		return nil
	}
	c, _ := utf8.DecodeRuneInString(expression[i:])
	return []problem.Problem{{
		Field: field, Severity: model.Warning,
		Message: fmt.Sprintf("%.200q: a path has %c only in encoded form: write %s", expression, c,
			url.PathEscape(string(c))),
	}}
}
