package gateway

import (
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// problem is a mistake in what a reader read. The caller knows the object, and makes a finding of it.
type problem struct {
	field             string // below what was read: ".path.value"; "" is all of it
	severity          model.Severity
	condition, reason string
	message           string
	drops             bool // the rule that it is in answers an error
	older             bool // an older version of what is wrong is used
}

// unsupported is the problem of a value that can't be served as it is written.
func unsupported(field, message string) problem {
	return problem{field: field, condition: "Accepted", reason: "UnsupportedValue", message: message, drops: true}
}

// unresolved is the problem of a reference that leads to nothing usable.
func unresolved(field string, why unusable) problem {
	return problem{field: field, condition: "ResolvedRefs", reason: why.reason, message: why.message}
}

// unusable is why a reference can't be used; none: it can.
type unusable struct{ reason, message string }

func (r unusable) none() bool { return r.reason == "" }

// below puts field, the place of a part, before the fields of the part's problems.
func below(field string, list []problem) []problem {
	for i := range list {
		list[i].field = field + list[i].field
	}
	return list
}

// drops tells whether one of the problems makes a rule answer an error.
func drops(list []problem) bool {
	for _, p := range list {
		if p.drops {
			return true
		}
	}
	return false
}

// findings are problems of a part of an object: a section of it, at a field.
func findings(object model.ObjectRef, section, field string, list []problem) []model.Finding {
	if len(list) == 0 {
		return nil
	}
	found := make([]model.Finding, len(list))
	for i, p := range list {
		found[i] = model.Finding{
			Object: object, Section: section, Severity: p.severity, Condition: p.condition, Reason: p.reason, Drops: p.drops,
			Field: field + p.field, Message: p.message,
		}
	}
	return found
}

// hasError tells whether a finding is an error on the condition.
func hasError(findings []model.Finding, condition string) bool {
	for _, f := range findings {
		if f.Condition == condition && f.Severity == model.Error {
			return true
		}
	}
	return false
}

// choice lists words to choose from: "a, b or c".
func choice[S ~string](list []S) string {
	all := words(list)
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " or " + all[last]
	}
	return strings.Join(all, "")
}

// listed names some of a list, and says how many more there are.
func listed(list []string) string { return model.Listed(list) }

// words are strings of whatever type.
func words[S ~string](list []S) []string {
	if len(list) == 0 {
		return nil
	}
	read := make([]string, len(list))
	for i, s := range list {
		read[i] = string(s)
	}
	return read
}
