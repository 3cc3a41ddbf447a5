package model

import (
	"math"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestProgramSizes: what is counted of an expression is what comes of compiling it. The size of a large one is as right
// as that of a small one.
func TestProgramSizes(t *testing.T) {
	for _, expr := range []string{
		"", "a", "/api/v[0-9]+/.*", "(?i)content-[a-z]+", "(?i)é1", "a|b|cd|", "(?:a|b)?", "(a*)*x", "^a$", `\bword\b`,
		`[^/]+\.(png|jpe?g)`, "(?s).{3,}", ".",
		"a{0}", "a{1}", "a{3}", "a{0,3}", "a{2,5}", "(ab){4,}", "((a{9}){9}){9}", "(?:a{2}|b{3}){5}", "(a|b{7,10}){11,12}",
		`\pL`, `[\pL\d_]{5}`,
		`\p{Greek}{100}`, `(\p{L}|.){40}`, `\PL?`, "[a]", "[^a]", "[^\\n]", `[\x00-\xff]`, "(?:){3}", `/\pL{1000}`,
		"a{1000}b{1000}", `\x{ff}`, "(?:x*)*",
	} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(expr, err)
		}
		got := programSize(re)
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(expr, err)
		}
		want := 0
		for _, inst := range prog.Inst {
			switch inst.Op {
			case syntax.InstRune:
				want += max(1, len(inst.Rune)/2) * utf8.UTFMax
			case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
				want += 3 * utf8.UTFMax
			default:
				want++
			}
		}
		if difference := math.Abs(float64(got - want)); difference > 4 && difference > float64(want)/100 {
			t.Errorf("%s: %d, but it is compiled to %d", expr, got, want)
		}
	}
}

// TestLargeRegexes: as large as may be is taken, and what would be larger than any number is refused.
func TestLargeRegexes(t *testing.T) {
	for expr, valid := range map[string]bool{
		strings.Repeat("a{1000}", 49):  true,
		strings.Repeat("a{1000}", 50):  false,
		strings.Repeat(`\pL`, 18):      true,
		strings.Repeat(`\pL`, 19):      false,
		strings.Repeat("x", 4096):      true,
		strings.Repeat(`\p{Lu}`, 1000): false,
		`\pL{1000}`:                    false,
		`(\pL{100}){10}`:               false,
		"(?:" + strings.Repeat("(?:", 300) + `\pL` + strings.Repeat("){1000}", 300) + ")": false,
	} {
		if err := CheckRegex(expr); (err == nil) != valid {
			t.Errorf("%.40s...: %v, want valid=%t", expr, err, valid)
		}
	}
}

// TestCheckingIsBounded: expressions of 4 KB, which a route may have hundreds of, are judged with about the memory that
// reading text takes.
func TestCheckingIsBounded(t *testing.T) {
	const length, bound = 4096, 4 << 20
	for _, part := range []string{
		`\pL{1000}`, `\pL`, `[\pL]`, `\PL|`, `a{1000}`, "(?i)[B-\U0001E942]", `(?i)\p{Lu}`, `\p{Letter}`, `\p{lu}`, `(\pL`,
		`[\pL\PL]?`,
		`a{2}`, `(a|`, `.*`, `[^x]`,
	} {
		expr := strings.Repeat(part, length/len(part))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := CheckRegex(expr)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > bound {
			t.Errorf("%s...: it took %d KB, at most %d (%.80v)", part, used>>10, bound>>10, err)
		}
	}
}
