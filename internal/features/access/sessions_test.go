package access

import "testing"

// TestSourcesThatMeet: callers of a source are compared with those of another one by one that the source takes; of
// tokens, nothing is certain.
func TestSourcesThatMeet(t *testing.T) {
	t.Parallel()
	id := func(how TextType, value string) Source {
		return Source{SPIFFE: &TextMatch{how, "spiffe://td/" + value}}
	}
	token := Source{JWT: &JWT{Subject: "ann"}}
	for _, c := range []struct {
		of, by Source
		want   bool
	}{
		{id(Exact, "a"), id(Exact, "a"), true},
		{id(Exact, "a"), id(Exact, "b"), false},
		{id(Exact, "a/b"), id(Prefix, "a/"), true},
		{id(Prefix, "a/"), id(Exact, "a/b"), false},
		{id(Wildcard, "ns/*/sa/a"), id(Prefix, "ns/"), true},
		{id(Wildcard, "ns/*/sa/a"), id(Wildcard, "ns/*/sa/*"), true},
		{token, Source{JWT: &JWT{Issuer: "https://corp"}}, true},
		{token, id(Prefix, ""), false},
		{id(Exact, "a"), token, false},
	} {
		if got := c.of.isOf(c.by); got != c.want {
			t.Errorf("%+v of %+v: %v, want %v", c.of, c.by, got, c.want)
		}
	}
}
