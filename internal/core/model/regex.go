package model

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxRegexSize bounds a regular expression, in about the instructions of its program. RE2 gives up at about 350,000.
	MaxRegexSize = 50_000
	// maxRanges bounds what the classes of an expression are made of (\pL has 700 ranges of characters), counted as they
	// are written: without a bound, reading 4 KB takes as long as compiling them. An expression of so many is too large,
	// unless it says the same again and again in brackets.
	maxRanges = MaxRegexSize
)

// CheckRegex tells why a regular expression can't be served: it is none of RE2, which reads expression and values as
// bytes, or it is too large. Nothing is compiled, and the work is bounded by the length of the text: whoever may write
// a route must not keep all others waiting. There is no bound on all expressions of a route together: it would refuse
// whichever comes last, and several routes would get around it.
func CheckRegex(expr string) error {
	if expr == "" {
		return errors.New("it is empty, and that is no expression; write .* to match everything")
	}
	if name, unknown := findForeignClass(expr); unknown {
		return fmt.Errorf(
			`RE2 has no class of characters \p{%s}; name a category as in \p{Lu}, or a script as in \p{Latin}`, name,
		)
	}
	if escape, found := findWideEscape(expr); found {
		return fmt.Errorf(
			`\%s is larger than a byte: bytes are compared, so \xFF is the largest; write é as \xC3\xA9 in a header, `+
				`%%C3%%A9 in a path`,
			escape,
		)
	}
	if n := namedRanges(expr); n > maxRanges {
		return fmt.Errorf("too large: its classes have %d ranges of characters, at most %d", n, maxRanges)
	}
	re, err := syntax.Parse(asLatin1(expr), syntax.Perl)
	var wrong *syntax.Error
	switch {
	case errors.As(err, &wrong) && (wrong.Code == syntax.ErrMissingBracket || wrong.Code == syntax.ErrMissingParen):
		return fmt.Errorf("missing %q", strings.TrimPrefix(string(wrong.Code), "missing closing "))
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: `%s`", wrong.Code, bytesOf(wrong.Expr))
	case err != nil:
		return err
	}
	if size := programSize(re); size > MaxRegexSize {
		return fmt.Errorf("too large: about %d instructions, at most %d", size, MaxRegexSize)
	}
	return nil
}

// programSize is about the number of instructions that an expression is compiled to: as many as Go has, but that a
// class of characters counts four for each range, for the bytes that tell it apart. A repeated part is compiled as
// often as it is repeated.
func programSize(re *syntax.Regexp) int {
	const begin, end = 1, 1
	return addSizes(begin+end, partSize(re))
}

func partSize(re *syntax.Regexp) int {
	inside := 0
	for _, sub := range re.Sub {
		inside = addSizes(inside, partSize(sub))
	}
	switch re.Op {
	case syntax.OpLiteral:
		return literalSize(re)
	case syntax.OpCharClass:
		return max(1, len(re.Rune)/2) * utf8.UTFMax
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 3 * utf8.UTFMax
	case syntax.OpCapture:
		return addSizes(inside, 2)
	case syntax.OpConcat:
		return inside
	case syntax.OpAlternate:
		return addSizes(inside, len(re.Sub)-1)
	case syntax.OpRepeat:
		return repeatSize(re, inside)
	}
	return addSizes(inside, 1) // a place in the text, nothing, or one of * + ?
}

// literalSize counts a character that has other cases, and is written in any, as a class.
func literalSize(re *syntax.Regexp) int {
	size := 0
	for _, c := range re.Rune {
		if re.Flags&syntax.FoldCase != 0 && unicode.SimpleFold(c) != c {
			size += utf8.UTFMax
		} else {
			size++
		}
	}
	return size
}

func repeatSize(re *syntax.Regexp, inside int) int {
	switch {
	case re.Max == 0: // nothing
		return 1
	case re.Max < 0:
		return addSizes(timesSize(max(re.Min, 1), inside), 1)
	}
	return addSizes(timesSize(re.Max, inside), re.Max-re.Min)
}

// addSizes adds sizes, which don't grow beyond what an int holds.
func addSizes(a, b int) int { return min(a, math.MaxInt32-b) + b }

func timesSize(n, size int) int {
	if size > math.MaxInt32/n {
		return math.MaxInt32
	}
	return n * size
}

// namedRanges counts the ranges of characters in all classes that an expression names.
func namedRanges(expr string) int {
	n := 0
	for escape := range eachEscape(expr) {
		if escape[0] != 'p' && escape[0] != 'P' {
			continue
		}
		name, _ := className(escape[1:])
		for _, table := range []*unicode.RangeTable{unicode.Categories[name], unicode.Scripts[name]} {
			if table != nil {
				n += len(table.R16) + len(table.R32)
			}
		}
	}
	return n
}

// asLatin1 makes a text with a character for each of its bytes, and bytesOf the text that it was.
func asLatin1(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return text
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteRune(rune(c))
	}
	return b.String()
}

func bytesOf(latin1 string) string {
	b := make([]byte, 0, len(latin1))
	for _, c := range latin1 {
		b = append(b, byte(c))
	}
	return string(b)
}

// findForeignClass finds a name of a class in a valid expression that Go takes and RE2 does not: Go knows newer
// scripts, further categories, their long names, and all names in any case (regexp/syntax since Go 1.25).
func findForeignClass(expr string) (name string, found bool) {
	for escape := range eachEscape(expr) {
		if escape[0] != 'p' && escape[0] != 'P' {
			continue
		}
		if name, found = className(escape[1:]); found && !classes[name] {
			return name, true
		}
	}
	return "", false
}

// findWideEscape finds an escape of a character that no byte is. RE2 refuses it, for Envoy lets it read expressions and
// values as Latin-1.
func findWideEscape(expr string) (escape string, found bool) {
	for text := range eachEscape(expr) {
		escape, base := text[:min(3, len(text))], 8
		escape = escape[:len(escape)-len(strings.TrimLeft(escape, "01234567"))]
		digits := escape
		if inside, braced := strings.CutPrefix(text, "x{"); braced {
			digits, _, _ = strings.Cut(inside, "}")
			escape, base = "x{"+digits+"}", 16
		}
		if code, err := strconv.ParseUint(digits, base, 32); err == nil && code > unicode.MaxLatin1 {
			return escape, true
		}
	}
	return "", false
}

// eachEscape are what follows each backslash of a valid expression, but for what is quoted (behind a Q).
func eachEscape(expr string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			_, rest, escaped := strings.Cut(expr, `\`)
			if !escaped || rest == "" || !yield(rest) {
				return
			}
			if expr = rest[1:]; rest[0] == 'Q' {
				_, expr, _ = strings.Cut(expr, `\E`)
			}
		}
	}
}

// className is the name behind \p: "Greek" of "{^Greek}...", "L" of "L...".
func className(text string) (name string, found bool) {
	if inside, braced := strings.CutPrefix(text, "{"); braced {
		name, _, found = strings.Cut(inside, "}")
		return strings.TrimPrefix(name, "^"), found
	}
	_, size := utf8.DecodeRuneInString(text)
	return text[:size], size > 0
}

// ClosedRegex is a valid expression that others can be put around: one with an open quotation (\Q) would take them in.
func ClosedRegex(expr string) string {
	for escape := range eachEscape(expr) {
		if escape[0] == 'Q' && !strings.Contains(escape, `\E`) {
			return expr + `\E`
		}
	}
	return expr
}

// RegexSize is about the number of instructions of a valid expression's program.
func RegexSize(expr string) int {
	re, err := syntax.Parse(asLatin1(expr), syntax.Perl)
	if err != nil {
		return math.MaxInt32
	}
	return programSize(re)
}
