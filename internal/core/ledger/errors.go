package ledger

import (
	"errors"
	"fmt"
	"strings"
)

// Code is what kind of error a ledger answers.
type Code string

// The codes.
const (
	Invalid     Code = "Invalid"     // the request can't be understood, or an object is not valid
	NotFound    Code = "NotFound"    // no such object, change or cluster
	Stale       Code = "Stale"       // an object has another generation than the one that was expected
	Exists      Code = "Exists"      // an object that was to be new is there
	Conflict    Code = "Conflict"    // something stands in the way: later changes, another head, a request used twice
	Held        Code = "Held"        // an object is held: it is not to be changed
	Compacted   Code = "Compacted"   // that part of the history is not kept any more
	Denied      Code = "Denied"      // the caller may not do it
	Unknown     Code = "Unknown"     // the caller is not known
	TooLarge    Code = "TooLarge"    // more objects or bytes than one change may have
	TooMany     Code = "TooMany"     // more at once than one caller may have
	Unavailable Code = "Unavailable" // the database can't be reached, or is full
	Unprotected Code = "Unprotected" // a Secret, and there is no key to seal it with
	NotAsked    Code = "NotAsked"    // a cluster could not be asked for a preview that the commit depends on
)

// Error is what a ledger answers in place of a result: a sentence for its user.
type Error struct {
	Code    Code   `json:"code"`
	Object  string `json:"object,omitempty"` // "HTTPRoute shop/web"
	Field   string `json:"field,omitempty"`  // "spec.rules[0].matches"
	Message string `json:"message"`          // what is wrong
	Fix     string `json:"fix,omitempty"`    // what to do

	Have  int64   `json:"have,omitempty"`  // Stale: the generation that the object has
	Later []int64 `json:"later,omitempty"` // Conflict: the changes that stand in the way

	Cause error `json:"-"`
}

func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.Object, e.Field} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(e.Message)
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Cause }

// CodeOf is the code of an error; "" if it has none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

func newObjectError(code Code, k Key, format string, args ...any) *Error {
	return &Error{Code: code, Object: k.String(), Message: fmt.Sprintf(format, args...)}
}
