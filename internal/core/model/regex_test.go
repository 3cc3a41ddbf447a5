package model

import (
	"regexp"
	"testing"
)

// TestClassNames: Go takes names that RE2 does not know.
func TestClassNames(t *testing.T) {
	for expr, valid := range map[string]bool{
		`\p{Greek}`: true, `\p{^Greek}+`: true, `\P{Lu}`: true, `\pN`: true, `[\p{Any}]`: true, `\Q\p{Letter}\E\d`: true,
		`\\p{2}`:     true,
		`\p{Letter}`: false, `\p{greek}`: false, `x\p{^Uppercase_Letter}`: false, `\P{ASCII}`: false, `\p{Cn}`: false,
		`\p{LC}`:          false,
		`\Qa\E\p{Letter}`: false, `\p{Lu}\p{Letter}`: false, `\p{No_Such}`: false,
		"": false, ".*": true, `\p{Kawi}`: true, `\p{Garay}`: false, `[^\P{Tulu_Tigalari}]`: false,
	} {
		if err := CheckRegex(expr); (err == nil) != valid {
			t.Errorf("%s: %v, want valid=%t", expr, err, valid)
		}
	}
}

// TestWideEscapes: RE2 reads what Envoy gives it as bytes, and refuses an escape that is none.
func TestWideEscapes(t *testing.T) {
	for expr, valid := range map[string]bool{
		`\x{ff}`: true, `[\x{80}-\x{00ff}]`: true, `\377`: true, `\0777`: true, `\xE9\x41`: true, `\Q\x{100}\E`: true,
		`\\x{100}`: true, `é`: true,
		`\x{100}`: false, `[a\x{10FFFF}]`: false, `[^\x{0100}]?`: false, `a\400`: false, `\777`: false, `\Qa\E\x{100}`: false,
	} {
		if err := CheckRegex(expr); (err == nil) != valid {
			t.Errorf("%s: %v, want valid=%t", expr, err, valid)
		}
	}
}

// TestClosed: what is put behind an expression is no part of its quotation, and the expression means what it did.
func TestClosed(t *testing.T) {
	for expr, want := range map[string]string{
		`a\.b`: `a\.b`, `\Qa.b`: `\Qa.b\E`, `\Qa.b\E.`: `\Qa.b\E.`, `\Qa\E\Qb\`: `\Qa\E\Qb\\E`, `\\Qa`: `\\Qa`,
		"\\Q\ufeff": "\\Q\ufeff\\E",
	} {
		if got := ClosedRegex(expr); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
		both, err := regexp.Compile("^(?:" + want + ")!$")
		if err != nil {
			t.Fatal(err)
		}
		if one := regexp.MustCompile("^(?:" + want + ")$"); one.MatchString("a.b") != both.MatchString("a.b!") {
			t.Errorf("%s takes what is behind it", want)
		}
	}
}
