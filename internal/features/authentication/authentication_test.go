package authentication

import (
	"net/http"
	"slices"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestPlacesThatMeet: credentials at one place are taken for those of one method only.
func TestPlacesThatMeet(t *testing.T) {
	basic, bearer := Place{Header: "authorization", Prefix: "Basic "}, Place{Header: "authorization", Prefix: "Bearer "}
	for _, c := range []struct {
		a, b Place
		want bool
	}{
		{basic, bearer, false}, {basic, Place{Header: "authorization"}, true}, {Place{Header: "authorization"}, bearer, true},
		{Place{Header: "x-key"}, bearer, false}, {Place{Query: "key"}, Place{Query: "key"}, true},
		{Place{Query: "key"}, Place{Cookie: "key"}, false}, {Place{Cookie: "key"}, Place{Cookie: "key"}, true},
	} {
		if got := c.a.mayOverlap(c.b); got != c.want {
			t.Errorf("%+v and %+v meet: %v", c.a, c.b, got)
		}
	}
}

func TestJudge(t *testing.T) {
	v := Value{Any: true, Places: []Place{
		{Header: "authorization", Prefix: "Bearer "}, {Query: "key"}, {Cookie: "key"}, {Header: "x-key"},
	}}
	for _, c := range []struct {
		path, name, value string
		brought           bool
	}{
		{"/", "", "", false}, {"/", "Authorization", "Bearer t", true}, {"/", "Authorization", "Basic t", false},
		{"/?key=a", "", "", true}, {"/", "Cookie", "key=a", true}, {"/", "X-Key", "a", true}, {"/?other=a", "", "", false},
	} {
		q := extend.Request{Path: c.path, Header: http.Header{}}
		if c.name != "" {
			q.Header.Set(c.name, c.value)
		}
		want := extend.Verdict{Status: http.StatusUnauthorized}
		if c.brought {
			want.If = "its credentials are valid"
		} else {
			want.Why = "it has no credentials for any of the methods"
		}
		if got := judgeRequest(q, v); !slices.Equal(got, []extend.Verdict{want}) {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
	}
	if got := judgeRequest(extend.Request{}, Value{Challenge: "a"}); got != nil {
		t.Errorf("of a challenge alone: %v", got)
	}
}
