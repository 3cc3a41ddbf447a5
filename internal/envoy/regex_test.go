package envoy

import "testing"

// TestClassNames: Go takes names that RE2 does not know.
func TestClassNames(t *testing.T) {
	for expr, valid := range map[string]bool{
		`\p{Greek}`: true, `\p{^Greek}+`: true, `\P{Lu}`: true, `\pN`: true, `[\p{Any}]`: true, `\Q\p{Letter}\E\d`: true, `\\p{2}`: true,
		`\p{Letter}`: false, `\p{greek}`: false, `x\p{^Uppercase_Letter}`: false, `\P{ASCII}`: false, `\p{Cn}`: false, `\p{LC}`: false,
		`\Qa\E\p{Letter}`: false, `\p{Lu}\p{Letter}`: false, `\p{No_Such}`: false,
	} {
		if err := checkRegex(expr); (err == nil) != valid {
			t.Errorf("%s: %v, want valid=%t", expr, err, valid)
		}
	}
}
