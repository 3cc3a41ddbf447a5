package wire

import (
	"fmt"
	"net/http"

	"cardea.dev/cardea/internal/core/ledger"
)

// ProblemType is the media type of errors (RFC 9457).
const ProblemType = "application/problem+json"

// Statuses are the HTTP statuses of errors. Invalid is 400 if the request can't even be read, 415 if it has another
// media type, and 428 if it states no precondition: those are set where it is noticed.
var Statuses = map[ledger.Code]int{
	ledger.Invalid:     http.StatusUnprocessableEntity,
	ledger.NotFound:    http.StatusNotFound,
	ledger.Stale:       http.StatusPreconditionFailed,
	ledger.Exists:      http.StatusPreconditionFailed,
	ledger.Conflict:    http.StatusConflict,
	ledger.Held:        http.StatusConflict,
	ledger.Compacted:   http.StatusGone,
	ledger.Denied:      http.StatusForbidden,
	ledger.Unknown:     http.StatusUnauthorized,
	ledger.TooLarge:    http.StatusRequestEntityTooLarge,
	ledger.TooMany:     http.StatusTooManyRequests,
	ledger.Unavailable: http.StatusServiceUnavailable,
	ledger.Unprotected: http.StatusUnprocessableEntity,
	ledger.NotAsked:    http.StatusConflict,
}

// Problem is an error as it travels: an RFC 9457 problem with what a ledger.Error says.
type Problem struct {
	Title  string      `json:"title" doc:"The status in words"`
	Status int         `json:"status" doc:"The HTTP status"`
	Detail string      `json:"detail" doc:"What is wrong"`
	Code   ledger.Code `json:"code,omitempty" doc:"What kind of error it is"`
	Object string      `json:"object,omitempty" doc:"The object that it is about" example:"HTTPRoute shop/web"`
	Field  string      `json:"field,omitempty" doc:"The field that it is about" example:"spec.rules[0].matches"`
	Fix    string      `json:"fix,omitempty" doc:"What to do"`
	Have   int64       `json:"have,omitempty" doc:"The generation that the object has"`
	Later  []int64     `json:"later,omitempty" doc:"The changes that stand in the way"`
	// Preview is what a change would do now, if it was bound to a preview that says something else.
	Preview *Preview `json:"preview,omitempty" doc:"What the change would do now"`
}

// ProblemOf is how an error of a ledger travels.
func ProblemOf(e *ledger.Error) *Problem {
	status := Statuses[e.Code]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return &Problem{Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code, Object: e.Object,
		Field: e.Field, Fix: e.Fix, Have: e.Have, Later: e.Later}
}

// ToLedger is the error that travelled.
func (p *Problem) ToLedger() *ledger.Error {
	return &ledger.Error{Code: p.Code, Object: p.Object, Field: p.Field, Message: p.Detail, Fix: p.Fix, Have: p.Have,
		Later: p.Later}
}

func (p *Problem) Error() string { return p.ToLedger().Error() }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is the media type that the problem is written with.
func (p *Problem) ContentType(string) string { return ProblemType }

// GetHeaders are the headers that belong to the problem.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{"Content-Type": {ProblemType}}
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="cardea ledger"`)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", "1")
	case http.StatusPreconditionFailed:
		if p.Have != 0 {
			h.Set("ETag", ETag(p.Have))
		}
	}
	return h
}

// ETag is the entity tag of a generation.
func ETag(generation int64) string { return fmt.Sprintf(`"%d"`, generation) }
