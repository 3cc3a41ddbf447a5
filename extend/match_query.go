package extend

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// queryExpression is a regular expression for a path with its query, in which one of a parameter's values matches. RBAC
// has no condition for parameters, and CEL can't take a query apart.
func queryExpression(q NamedMatch) string {
	const any = "[^&]*"
	var values []string
	for _, v := range q.Values {
		value := encoded(v, q.IgnoreCase)
		switch q.Type {
		case Prefix:
			value += any
		case Suffix:
			value = any + value
		case Contains:
			value = any + value + any
		}
		values = append(values, value)
	}
	value := "=(?:" + strings.Join(values, "|") + ")"
	if q.Type == Present {
		value = "(?:=" + any + ")?"
	}
	return `[^?]*\?(?:.*&)?` + encoded(q.Name, false) + value + "(?:&.*)?"
}

// encoded is an expression for all spellings of a text in a query: each of its bytes may be escaped.
func encoded(text string, ignoreCase bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		spellings := spelled(c)
		if other := otherCase(c); ignoreCase && other != c {
			spellings += "|" + spelled(other)
		}
		fmt.Fprintf(&b, "(?:%s)", spellings)
	}
	return b.String()
}

func spelled(c byte) string {
	escaped := fmt.Sprintf("(?i:%%%02x)", c)
	switch {
	case c == ' ':
		return `\+|` + escaped
	case c == '&': // it can't be there as it is
		return escaped
	case c >= unicode.MaxASCII:
		return fmt.Sprintf(`\x%02X|%s`, c, escaped)
	}
	return regexp.QuoteMeta(string(rune(c))) + "|" + escaped
}

func otherCase(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return c - 'a' + 'A'
	case 'A' <= c && c <= 'Z':
		return c - 'A' + 'a'
	}
	return c
}
