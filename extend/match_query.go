package extend

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// QueryExpression is a regular expression for a path with its query, in which one of a parameter's values matches. RBAC
// has no condition for parameters, and CEL can't take a query apart.
func QueryExpression(q NamedMatch) string {
	const any = "[^&]*"
	var values []string
	for _, v := range q.Values {
		value := encodedRegex(v, q.IgnoreCase)
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
	return `[^?]*\?(?:.*&)?` + encodedRegex(q.Name, false) + value + "(?:&.*)?"
}

// encodedRegex is an expression for all spellings of a text in a query: each of its bytes may be escaped.
func encodedRegex(text string, ignoreCase bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		spellings := spellByte(c)
		if other := otherCase(c); ignoreCase && other != c {
			spellings += "|" + spellByte(other)
		}
		fmt.Fprintf(&b, "(?:%s)", spellings)
	}
	return b.String()
}

func spellByte(c byte) string {
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
