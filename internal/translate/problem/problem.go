// Package problem has the words in which readers of specs tell what is wrong: a Problem of a field, and why a reference
// is Unusable.
//
// It owns how problems become findings. It must never know a kind of object, or a collection: whoever reads an object
// knows which one it is, and at which field its part stands. Start reading at Problem.
package problem

import (
	"cardea.dev/cardea/internal/core/model"
)

// Problem is a mistake in what a reader read. The caller knows the object, and makes a finding of it.
type Problem struct {
	Field             string // below what was read: ".path.value"; "" is all of it
	Severity          model.Severity
	Condition, Reason string
	Message           string
	Drops             bool // the rule that it is in answers an error
	UsesOlder         bool // an older version of what is wrong is used
}

// NewUnsupported is the problem of a value that can't be served as it is written.
func NewUnsupported(field, message string) Problem {
	return Problem{Field: field, Condition: "Accepted", Reason: "UnsupportedValue", Message: message, Drops: true}
}

// NewUnresolved is the problem of a reference that leads to nothing usable.
func NewUnresolved(field string, why Unusable) Problem {
	return Problem{Field: field, Condition: "ResolvedRefs", Reason: why.Reason, Message: why.Message}
}

// Unusable is why a reference can't be used: the reason of a condition, and a message; zero: it can.
type Unusable struct{ Reason, Message string }

// IsZero tells whether the reference can be used.
func (r Unusable) IsZero() bool { return r.Reason == "" }

// PrefixFields puts field, the place of a part, before the fields of the part's problems.
func PrefixFields(field string, list []Problem) []Problem {
	for i := range list {
		list[i].Field = field + list[i].Field
	}
	return list
}

// DropsRule tells whether one of the problems makes a rule answer an error.
func DropsRule(list []Problem) bool {
	for _, p := range list {
		if p.Drops {
			return true
		}
	}
	return false
}

// ToFindings are problems of a part of an object: a section of it, at a field.
func ToFindings(object model.ObjectRef, section, field string, list []Problem) []model.Finding {
	if len(list) == 0 {
		return nil
	}
	found := make([]model.Finding, len(list))
	for i, p := range list {
		found[i] = model.Finding{
			Object: object, Section: section, Severity: p.Severity, Condition: p.Condition, Reason: p.Reason, Drops: p.Drops,
			Field: field + p.Field, Message: p.Message,
		}
	}
	return found
}

// HasError tells whether a finding is an error on the condition.
func HasError(findings []model.Finding, condition string) bool {
	for _, f := range findings {
		if f.Condition == condition && f.Severity == model.Error {
			return true
		}
	}
	return false
}

// ToStrings are strings of whatever type.
func ToStrings[S ~string](list []S) []string {
	if len(list) == 0 {
		return nil
	}
	read := make([]string, len(list))
	for i, s := range list {
		read[i] = string(s)
	}
	return read
}
