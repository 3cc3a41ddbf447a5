package schema

import (
	"regexp"
	"testing"
)

// TestPatternsInWords: what does not match is told in words, and what may have been meant.
func TestPatternsInWords(t *testing.T) {
	host := `^(\*\.)?` + subdomain + `$`
	for _, c := range []struct{ pattern, value, want string }{
		{duration, "1.5s", `expected a duration such as 1500ms, 5s or 1h30m, got "1.5s": write 1500ms`},
		{duration, "250.5s", `expected a duration such as 1500ms, 5s or 1h30m, got "250.5s": write 250s500ms`},
		{duration, "1.5h", `expected a duration such as 1500ms, 5s or 1h30m, got "1.5h": write 5400s`},
		{duration, "10", `expected a duration such as 1500ms, 5s or 1h30m, got "10"`},
		{duration, "1us", `expected a duration such as 1500ms, 5s or 1h30m, got "1us"`},
		{host, "Shop.Example", `expected a hostname in small letters, such as shop.example or *.example, got ` +
			`"Shop.Example": write shop.example`},
		{method, "get", `expected a method in capital letters, such as GET, got "get": write GET`},
		{`^` + label + `$`, "a_b", `expected a name of small letters, digits and -, such as shop-1, got "a_b"`},
	} {
		if got, ok := explainPattern(c.pattern, c.value); !ok || got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got, ok := explainPattern(`^x$`, "y"); ok {
		t.Errorf("of a pattern without words it says %q", got)
	}
	for pattern := range patterns {
		if _, err := regexp.Compile(pattern); err != nil {
			t.Error(err)
		}
	}
	if got, want := inWords(`must be empty or contain only valid characters (matching `+host+`)`),
		"must be empty or contain only valid characters (a hostname in small letters, such as shop.example or "+
			"*.example)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := inWords("must only (matching ^x$) for types"), "must only for types"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
