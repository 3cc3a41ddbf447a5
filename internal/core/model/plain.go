package model

import (
	"strconv"
	"strings"
)

// EscapeUnprintable is a text that somebody else wrote, as it may be shown in a terminal: characters that can't be
// seen, such as a newline or what moves the cursor, are escaped as Go does.
func EscapeUnprintable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
