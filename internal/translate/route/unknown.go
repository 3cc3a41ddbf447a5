package route

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
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

// splitMatches divides the matches of a rule into those that can be read, and those with unknown fields, with what is
// known of each. Both lists have all indices: in place of a match of the other list stands one that takes no request. A
// list without any match of its own is nil.
func (u unknownFields) splitMatches(
	rule int, matches []model.Match,
) (read, unread []model.Match, problems []problem.Problem) {
	if len(u) == 0 {
		return matches, nil, nil
	}
	read, unread = slices.Clone(matches), slices.Clone(matches)
	for i, m := range matches {
		field := u.ofMatch(rule, i)
		if field == "" {
			unread[i] = matchNothing("the rule itself has this match")
			continue
		}
		why := fmt.Sprintf("has a field that this version of Cardea does not know (%s)", field)
		read[i] = matchNothing("it " + why)
		instead := "requests that fit the rest of the match get an error"
		if isAny(m) {
			unread[i] = read[i]
			instead = "the match states nothing else, so it is ignored, and its requests go to other rules"
		}
		problems = append(problems, problem.NewUnsupported(fmt.Sprintf(".matches[%d]", i), "the match "+why+": "+instead))
	}
	switch len(problems) {
	case 0:
		unread = nil
	case len(matches):
		read = nil
	}
	return read, unread, problems
}

// matchNothing is a match that takes no request.
func matchNothing(why string) model.Match {
	return model.Match{Path: model.PathMatch{Type: model.PathNone, Value: why}}
}

// unreadSuffix can't stand in a user's name.
const unreadSuffix = "~unread"

// failingRule is a rule that answers an error to the matches of another one that can't be read.
func (s ruleScope) failingRule(rule model.Rule, unread []model.Match) (model.Rule, []problem.Problem) {
	status, _ := s.route.Kind().FailureStatus()
	rule.Key.Name += unreadSuffix
	matches, problems := readMatches(unread)
	return model.Rule{Key: rule.Key, Index: rule.Index, Matches: matches, Error: status}, problem.PrefixFields(".matches",
		problems)
}

func IsUnread(rule model.Rule) bool { return strings.HasSuffix(rule.Key.Name, unreadSuffix) }

// isAny tells whether a match takes every request.
func isAny(m model.Match) bool {
	path := m.GRPC == nil && m.Path == model.PathMatch{Type: model.PathPrefix, Value: "/"} ||
		m.GRPC != nil && m.GRPC.Service == "" && m.GRPC.Method == ""
	return path && m.Method == "" && len(m.Headers)+len(m.Query) == 0
}

// warnNoEffect warns of the fields that have no effect.
func (u unknownFields) warnNoEffect(ref model.ObjectRef) []model.Finding {
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
		Message: "this version of Cardea does not know and ignores: " + model.JoinSome(list),
	}}
}
