package envoy

import (
	"regexp"
	"slices"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestNoneOf: the expression takes every string but the words.
func TestNoneOf(t *testing.T) {
	for _, words := range [][]string{extend.UncopiedHeaders, {"a"}, {"a", "ab", "abc"}, {"-", "a-b", "]", "^"}} {
		re := regexp.MustCompile("^" + noneOf(words) + "$")
		others := []string{"x-auth", "a", "b", "hos", "hosts", "h", "abcd", "abd", "-x", "content-lengthy", ":s", "te-", "t"}
		for _, s := range slices.Concat(words, others) {
			if got, want := re.MatchString(s), !slices.Contains(words, s); got != want {
				t.Errorf("%q of %q: %v", s, words, got)
			}
		}
	}
}
