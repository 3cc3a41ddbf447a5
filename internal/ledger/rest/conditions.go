package rest

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Conditions are the preconditions of a write (RFC 9110, section 13). One of them must be stated: a write that states
// none overwrites what somebody else did meanwhile.
type Conditions struct {
	IfMatch     string `header:"If-Match" example:"\"3\"" doc:"The ETag that the object must have; * if it must be there"`
	IfNoneMatch string `header:"If-None-Match" example:"*" doc:"* if the object must not be there yet"`
}

// checkConditions refuses a write that states no precondition, or one that can't be decided.
func (c Conditions) checkConditions(k ledger.Key) error {
	switch {
	case c.IfMatch == "" && c.IfNoneMatch == "":
		return &wire.Problem{Status: http.StatusPreconditionRequired, Code: ledger.Invalid, Object: k.String(),
			Title:  http.StatusText(http.StatusPreconditionRequired),
			Detail: "the request does not say which generation of the object it is made for",
			Fix:    "send If-Match with the ETag of a GET, or If-None-Match: * for a new object"}
	case c.IfMatch != "" && c.IfNoneMatch != "":
		return &ledger.Error{Code: ledger.Invalid, Object: k.String(), Field: "If-None-Match",
			Message: "If-Match and If-None-Match can't be stated together", Fix: "state one of them"}
	case c.IfNoneMatch != "" && c.IfNoneMatch != "*":
		return &ledger.Error{Code: ledger.Invalid, Object: k.String(), Field: "If-None-Match",
			Message: "only * can be stated for a write", Fix: "use If-Match for an object that is there"}
	}
	for _, tag := range splitTags(c.IfMatch) {
		if tag != "*" && generationOf(tag) == 0 {
			return &ledger.Error{Code: ledger.Invalid, Object: k.String(), Field: "If-Match",
				Message: "is not an ETag of the ledger: " + tag, Fix: `send the ETag of a GET, with its quotes: "3"`}
		}
	}
	return nil
}

// expectedGeneration is the generation that the object must have at the commit. It is there also if the error says that
// no generation will do.
func (c Conditions) expectedGeneration(k ledger.Key, now ledger.Object) (*int64, error) {
	expected := int64(0)
	if c.IfNoneMatch != "" {
		return &expected, nil
	}
	list := splitTags(c.IfMatch)
	expected = generationOf(list[0])
	for _, tag := range list {
		if !now.IsDeleted() && (tag == "*" || generationOf(tag) == now.Generation) {
			expected = now.Generation
		}
	}
	if expected == 0 {
		never := int64(math.MaxInt64) // for a repeated request, which the ledger knows
		return &never, &ledger.Error{Code: ledger.Stale, Object: k.String(), Message: "is not in the ledger",
			Have: now.Generation, Fix: "create it with If-None-Match: *"}
	}
	return &expected, nil
}

// matchesETag tells whether a GET's If-None-Match names a generation.
func matchesETag(header string, generation int64) bool {
	for _, tag := range splitTags(header) {
		if tag == "*" || generationOf(strings.TrimPrefix(tag, "W/")) == generation {
			return true
		}
	}
	return false
}

func splitTags(header string) (list []string) {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			list = append(list, tag)
		}
	}
	return list
}

// generationOf is the generation of a strong entity tag; 0 if it is none of the ledger's.
func generationOf(tag string) int64 {
	inner, quoted := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	n, err := strconv.ParseInt(inner, 10, 64)
	if !quoted || !closed || err != nil || n < 1 {
		return 0
	}
	return n
}
