package simulate

import (
	"net/http"
	"regexp"
	"strings"

	"cardea.dev/cardea/internal/core/request"
)

// formats fills in Envoy's format strings: the commands %REQ(NAME)%, %PROTOCOL% and the like. Those that depend on what
// is not simulated are refused.
type formats struct {
	request  request.Request
	response http.Header
}

var command = regexp.MustCompile(`%%|%([A-Z_]+)(?:\((.*?)\))?(?::(\d+))?%`)

// extract is the one CEL expression that is understood: a substring of a header of the answer, put into another text.
var extract = regexp.MustCompile(
	`%CEL\(re\.extract\(response\.headers\['([^']+)'\], '((?:[^'\\]|\\.)*)', '((?:[^'\\]|\\.)*)'\)\)%`,
)

// format fills in a text; ok is false if it holds a command that is not simulated.
func (f formats) format(text string) (value string, ok bool) {
	if m := extract.FindStringSubmatch(text); m != nil && m[0] == text {
		return f.extract(m[1], unquote(m[2]), unquote(m[3]))
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
			if value, found := f.request.Value(name); found {
				ok = ok && !request.OnlyProxyKnows(value)
				return value
			}
		}
		return ""
	})
	return value, ok
}

// extract is CEL's re.extract: "" if the expression doesn't match.
func (f formats) extract(header, expression, rewrite string) (string, bool) {
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

// unquote reads the escapes of a CEL string.
func unquote(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
