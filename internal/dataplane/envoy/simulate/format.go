package simulate

import (
	"net/http"
	"regexp"
	"strings"

	"cardea.dev/cardea/internal/core/request"
)

// formatter fills in Envoy's format strings: the commands %REQ(NAME)%, %PROTOCOL% and the like. Those that depend on
// what is not simulated are refused.
type formatter struct {
	source   request.Request
	response http.Header
}

var command = regexp.MustCompile(`%%|%([A-Z_]+)(?:\((.*?)\))?(?::(\d+))?%`)

// extract is the one CEL expression that is understood: a substring of a header of the answer, put into another text.
var extract = regexp.MustCompile(
	`%CEL\(re\.extract\(response\.headers\['([^']+)'\], '((?:[^'\\]|\\.)*)', '((?:[^'\\]|\\.)*)'\)\)%`,
)

// expandFormat fills in a text; ok is false if it holds a command that is not simulated.
func (f formatter) expandFormat(text string) (value string, ok bool) {
	if m := extract.FindStringSubmatch(text); m != nil && m[0] == text {
		return f.extractRegex(m[1], unquoteCEL(m[2]), unquoteCEL(m[3]))
	}
	ok = true
	value = command.ReplaceAllStringFunc(text, func(c string) string {
		m := command.FindStringSubmatch(c)
		if c == "%%" {
			return "%"
		}
		if m[1] != "REQ" || m[3] != "" {
			ok = false
			return ""
		}
		for name := range strings.SplitSeq(m[2], "?") {
			if value, found := f.source.HeaderValue(name); found {
				ok = ok && !request.OnlyProxyKnows(value)
				return value
			}
		}
		return ""
	})
	return value, ok
}

// extractRegex is CEL's re.extract: "" if the expression doesn't match.
func (f formatter) extractRegex(header, expression, rewrite string) (string, bool) {
	re, err := regexp.Compile(expression)
	if err != nil || f.response == nil {
		return "", false
	}
	value := f.response.Get(header)
	match := re.FindStringSubmatchIndex(value)
	if match == nil {
		return "", true
	}
	return string(re.ExpandString(nil, goSubstitution(rewrite), value, match)), true
}

// unquoteCEL reads the escapes of a CEL string.
func unquoteCEL(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
