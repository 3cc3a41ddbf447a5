package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// unknownFields are the fields of a route's spec that this version does not know (model.Meta.Unknown): somebody wrote
// them for a newer one. A match that has one would take fewer requests than what is known of it takes, so these are
// answered with an error. Any other field has no effect, with a warning.
type unknownFields []string

var fieldOfMatch = regexp.MustCompile(`^rules\[(\d+)\]\.matches\[(\d+)\]\.(.*)$`)

// ofMatch is an unknown field of a match; "" if all of its fields are known. If the list of unknown fields was cut off,
// any match may have one.
func (u unknownFields) ofMatch(rule, match int) string {
	for _, field := range u {
		m := fieldOfMatch.FindStringSubmatch(field)
		if m != nil && m[1] == strconv.Itoa(rule) && m[2] == strconv.Itoa(match) {
			return m[3]
		}
	}
	if slices.Contains(u, model.MoreUnknown) {
		return model.MoreUnknown
	}
	return ""
}

// split divides the matches of a rule into those that can be read, and those with unknown fields, with what is known of
// each. Both lists have all indices: in place of a match of the other list stands one that takes no request. A list
// without any match of its own is nil.
func (u unknownFields) split(rule int, matches []model.Match) (read, unread []model.Match, problems []problem) {
	if len(u) == 0 {
		return matches, nil, nil
	}
	read, unread = slices.Clone(matches), slices.Clone(matches)
	for i, m := range matches {
		field := u.ofMatch(rule, i)
		if field == "" {
			unread[i] = untaken("the rule itself has this match")
			continue
		}
		why := fmt.Sprintf("has a field that this version of Cardea does not know (%s)", field)
		read[i] = untaken("it " + why)
		instead := "the requests that the rest of it takes are answered with an error"
		if isAny(m) {
			unread[i] = read[i]
			instead = "nothing else is stated, so it takes no request, and they go to other rules"
		}
		problems = append(problems, unsupported(fmt.Sprintf(".matches[%d]", i), "the match "+why+": "+instead))
	}
	switch len(problems) {
	case 0:
		unread = nil
	case len(matches):
		read = nil
	}
	return read, unread, problems
}

// untaken is a match that takes no request.
func untaken(why string) model.Match {
	return model.Match{Path: model.PathMatch{Type: model.PathNone, Value: why}}
}

// unreadSuffix can't stand in a user's name.
const unreadSuffix = "~unread"

// failing is a rule that answers an error to the matches of another one that can't be read.
func (s ruleScope) failing(rule model.Rule, unread []model.Match) (model.Rule, []problem) {
	status, _ := s.route.Kind().Failure()
	rule.Key.Name += unreadSuffix
	matches, problems := readMatches(unread)
	return model.Rule{Key: rule.Key, Index: rule.Index, Matches: matches, Error: status}, below(".matches", problems)
}

func isUnread(rule model.Rule) bool { return strings.HasSuffix(rule.Key.Name, unreadSuffix) }

// isAny tells whether a match takes every request.
func isAny(m model.Match) bool {
	path := m.GRPC == nil && m.Path == model.PathMatch{Type: model.PathPrefix, Value: "/"} ||
		m.GRPC != nil && m.GRPC.Service == "" && m.GRPC.Method == ""
	return path && m.Method == "" && len(m.Headers)+len(m.Query) == 0
}

// finding warns of the fields that have no effect.
func (u unknownFields) finding(ref model.ObjectRef) []model.Finding {
	var list []string
	for _, field := range u {
		if !fieldOfMatch.MatchString(field) {
			list = append(list, field)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []model.Finding{{
		Object: ref, Severity: model.Warning, Field: "spec." + list[0],
		Message: "this version of Cardea does not know, and goes on without: " + listed(list),
	}}
}
