package simulate

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// envoyRegex is a regular expression as Envoy takes it: Go's syntax is RE2's, but for names of classes that only Go
// knows; and Envoy compares bytes, not characters. It reads expression and value as Latin-1, whatever they are: "é" in
// UTF-8 is two letters, `\pL\pL` or `\xC3\xA9`.
type envoyRegex struct {
	whole *regexp.Regexp // of a whole value
	folds bool           // a part without case names characters of Latin-1 that are not ASCII
}

// compileRegex compiles an expression once; nil if it can't be read, which no Envoy would have taken.
func (c *Config) compileRegex(text string) *envoyRegex {
	e, known := c.expressions[text]
	if known {
		return e
	}
	// by itself: a quotation (\Q) may be open at its end
	if parsed, err := syntax.Parse(toLatin1(text), syntax.Perl); err == nil {
		if whole, err := regexp.Compile(`\A(?:` + parsed.String() + `)\z`); err == nil {
			e = &envoyRegex{whole, foldsLatin1(parsed)}
		}
	}
	c.expressions[text] = e
	return e
}

// matchString tells whether a whole value matches. known is false where Go and RE2 differ: of Latin-1 that folds
// letters of ASCII only.
func (e *envoyRegex) matchString(value string) (matches, known bool) {
	if e == nil {
		return false, true
	}
	text := toLatin1(value)
	return e.whole.MatchString(text), !e.folds || len(text) == len(value)
}

func foldsLatin1(re *syntax.Regexp) bool {
	if slices.ContainsFunc(re.Sub, foldsLatin1) {
		return true
	}
	if re.Flags&syntax.FoldCase == 0 {
		return false
	}
	if re.Op != syntax.OpCharClass {
		return slices.ContainsFunc(re.Rune, func(r rune) bool { return r > unicode.MaxASCII })
	}
	for i := 0; i+1 < len(re.Rune); i += 2 { // from, to
		if re.Rune[i] <= unicode.MaxLatin1 && re.Rune[i+1] > unicode.MaxASCII {
			return true
		}
	}
	return false
}

// toLatin1 is a text with a character for each of its bytes.
func toLatin1(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return text
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteRune(rune(c))
	}
	return b.String()
}
