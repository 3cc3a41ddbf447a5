package rest

import (
	"encoding/base64"
	"encoding/json"

	"cardea.dev/cardea/internal/core/ledger"
)

// cursor is where a list goes on. Clients take it as it is.
type cursor struct {
	At     int64      `json:"at"` // the change that all pages show
	After  ledger.Key `json:"after"`
	Filter string     `json:"filter"` // of the list that it belongs to
}

func (c cursor) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic("rest: " + err.Error()) // it consists of text and numbers
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads a cursor of a list with a filter.
func parseCursor(text, filter string) (c cursor, err error) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(plain, &c) != nil || c.At < 0 || c.After.Name == "" {
		return c, badCursor("is no cursor of this API")
	}
	if c.Filter != filter {
		return c, badCursor("belongs to a list with another target, kind or namespace")
	}
	return c, nil
}

func badCursor(message string) error {
	return &ledger.Error{Code: ledger.Invalid, Field: "cursor", Message: message,
		Fix: "send next of the page before, with the same query"}
}
