package envoy

import (
	"fmt"
	"iter"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRegexSize bounds a compiled regular expression, in instructions. RE2 gives up at about 350,000, and the bootstrap lifts
// Envoy's own limit, which is 100.
const maxRegexSize = 50_000

// checkRegex refuses what RE2 would: one bad expression makes Envoy refuse the whole table that holds it. Go's syntax is
// RE2's but for some names of character classes, its limit on size is not.
func checkRegex(expr string) error {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return err
	}
	if name, unknown := foreignClass(expr); unknown {
		return fmt.Errorf(`\p{%s} is no class of characters that Envoy knows; name a category as in \p{Lu}, or a script as in \p{Latin}`, name)
	}
	if escape, found := wideEscape(expr); found {
		return fmt.Errorf(`\%s is more than a byte: Envoy compares bytes, \xFF is the last; é is \xC3\xA9 in a header, %%C3%%A9 in a path`, escape)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return err
	}
	if size := regexSize(prog); size > maxRegexSize {
		return fmt.Errorf("the regular expression is too large: about %d instructions, at most %d", size, maxRegexSize)
	}
	return nil
}

// foreignClass finds a name of a class in a valid expression that Go takes and RE2 does not: Go knows further categories, their long
// names, and all names in any case (regexp/syntax since Go 1.25).
func foreignClass(expr string) (name string, found bool) {
	for escape := range escapes(expr) {
		if escape[0] != 'p' && escape[0] != 'P' {
			continue
		}
		if name, found = className(escape[1:]); found && !isClass(name) {
			return name, true
		}
	}
	return "", false
}

// wideEscape finds an escape of a character that no byte is. RE2 refuses it, for Envoy lets it read expressions and values as Latin-1.
func wideEscape(expr string) (escape string, found bool) {
	for text := range escapes(expr) {
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

// escapes are what follows each backslash of a valid expression, but for what is quoted (behind a Q).
func escapes(expr string) iter.Seq[string] {
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

// isClass tells whether RE2 has a class of this name.
func isClass(name string) bool {
	switch name {
	case "Any":
		return true
	case "Cn", "LC": // of Go alone
		return false
	}
	return unicode.Categories[name] != nil || unicode.Scripts[name] != nil
}

// closed is a valid expression that others can be put around: one whose quotation (\Q) is open would take them in.
func closed(expr string) string {
	for escape := range escapes(expr) {
		if escape[0] == 'Q' && !strings.Contains(escape, `\E`) {
			return expr + `\E`
		}
	}
	return expr
}

// regexSize estimates the size of RE2's program, which tells bytes apart where Go's tells characters.
func regexSize(prog *syntax.Prog) int {
	size := 0
	for _, inst := range prog.Inst {
		switch inst.Op {
		case syntax.InstRune:
			size += max(1, len(inst.Rune)/2) * utf8.UTFMax
		case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			size += 3 * utf8.UTFMax
		default:
			size++
		}
	}
	return size
}
