package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/model"
)

// unknownFields are the fields of a route's spec that this version does not know (model.Meta.Unknown): somebody wrote
// them for a newer one. A match that has one would take fewer requests than what is known of it takes, so these are
// answered with an error. Any other field has no effect, with a warning.
type unknownFields []string

var fieldOfMatch = regexp.MustCompile(`^rules\[(\d+)\]\.matches\[(\d+)\]\.(.*)$`)

// ofMatch is the field of a match; "" if all of them are known. Of a list that was cut off nobody knows.
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

// split takes the matches with unknown fields out of a rule. unread has what is known of each.
func (u unknownFields) split(rule int, matches []model.Match) (read, unread []model.Match, problems []problem) {
	if len(u) == 0 {
		return matches, nil, nil
	}
	for i, m := range matches {
		field := u.ofMatch(rule, i)
		if field == "" {
			read = append(read, m)
			continue
		}
		why := fmt.Sprintf("has a field that this version of Cardea does not know (%s)", field)
		instead := "the requests that the rest of it takes are answered with an error"
		if isAny(m) {
			m.GRPC, m.Path = nil, model.PathMatch{Type: model.PathNone, Value: "it " + why}
			instead = "nothing else is stated, so it takes no request, and they go to other rules"
		}
		unread = append(unread, m)
		problems = append(problems, unsupported(fmt.Sprintf(".matches[%d]", i), "the match "+why+": "+instead))
	}
	return read, unread, problems
}

// apart is a rule of the matches that can't be read of one: it answers an error. The tilde can't stand in a user's
// name.
func (s ruleScope) apart(rule model.Rule, unread []model.Match) model.Rule {
	status, _ := s.route.Kind().Failure()
	rule.Key.Name += "~unread"
	return model.Rule{Key: rule.Key, Matches: unread, Error: status}
}

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
	const most = 5
	words := strings.Join(list[:min(len(list), most)], ", ")
	if len(list) > most {
		words += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return []model.Finding{{
		Object: ref, Severity: model.Warning, Field: "spec." + list[0],
		Message: "this version of Cardea does not know, and goes on without: " + words,
	}}
}
