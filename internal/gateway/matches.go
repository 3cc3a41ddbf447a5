package gateway

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cardea.dev/cardea/internal/model"
)

const (
	unmatchable = "unmatchable" // a path that no request has: a request's path starts with a slash
	anything    = ".*"
)

// readMatches finds what the schema can't: an expression that is none, or too large. What it would have taken can't be
// known, but it would have been among the requests that have such a header or query parameter at all: so these get the
// rule's error, and none of them falls through to a wider rule. Of a path nothing is known: such a match takes no
// request.
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
	const instead = "this match takes no request"
	var problems []problem
	if m.Path.Type == model.PathRegex {
		problems = append(notEncoded(".path.value", m.Path.Value),
			checkRegex(".path.value", m.Path.Value, instead)...)
	}
	if g := m.GRPC; g != nil && g.Regex {
		if g.Service != "" {
			problems = append(problems, checkRegex(".method.service", g.Service, instead)...)
		}
		if g.Method != "" && len(problems) == 0 {
			problems = append(problems, checkRegex(".method.method", g.Method, instead)...)
		}
	}
	if drops(problems) {
		m.Path, m.GRPC = model.PathMatch{Type: model.PathExact, Value: unmatchable}, nil
	}
	var wrong, also []problem
	m.Headers, wrong = readValues(m.Headers)
	m.Query, also = readValues(m.Query)
	return m, slices.Concat(problems, below(".headers", wrong), below(".queryParams", also))
}

// readValues takes any value in place of an expression that is none.
func readValues(list []model.ValueMatch) (read []model.ValueMatch, problems []problem) {
	read = list
	for i, v := range list {
		if !v.Regex {
			continue
		}
		wrong := checkRegex("", v.Value, "any value is taken for a match")
		if len(wrong) > 0 {
			read = slices.Clone(read)
			read[i].Value = anything
		}
		problems = append(problems, wrong...)
	}
	return read, problems
}

// checkRegex says of an expression that is none what becomes of the match.
func checkRegex(field, expression, instead string) []problem {
	err := model.CheckRegex(expression)
	if err == nil {
		return nil
	}
	return []problem{unsupported(field,
		fmt.Sprintf("%.200q is not a regular expression of RE2 (%.300s), so %s", expression, err, instead))}
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
