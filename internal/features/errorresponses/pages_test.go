package errorresponses

import (
	"regexp"
	"testing"
)

// TestOrder: of pages that fit, one that names the code comes first, then the one with more conditions, then by name.
func TestOrder(t *testing.T) {
	list := orderChoices([]page{
		{Name: "a", Codes: []string{"5xx", "503"}, From: Any},
		{Name: "b", Codes: []string{"5xx"}, From: Proxy},
		{Name: "c", Codes: []string{"503"}, From: Any, Accept: []string{"text/html"}},
		{Name: "d", Codes: []string{"503"}, From: Any},
	})
	var got string
	for _, c := range list {
		got += c.Name + ":" + c.Codes[0] + " "
	}
	if want := "c:503 a:503 d:503 b:5xx a:5xx "; got != want {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

// TestAccept: a type is named in an Accept header as a whole, in any case, with whatever parameters.
func TestAccept(t *testing.T) {
	named := regexp.MustCompile("^(?:" + acceptExpression([]string{"text/html"}) + ")$")
	for accept, want := range map[string]bool{
		"text/html": true, "a/b, Text/HTML;q=0.5": true, "text/html,a/b": true,
		"text/htmlx": false, "x/text/html": false, "*/*": false, "": false,
	} {
		if named.MatchString(accept) != want {
			t.Errorf("%q: %t, want %t", accept, !want, want)
		}
	}
}

// TestIsLocation: a place is a path, or a URL of a web server.
func TestIsLocation(t *testing.T) {
	for text, want := range map[string]bool{
		"/sorry?a=b": true, "https://a.example/b%20c": true, "http://a": true,
		"sorry": false, "//a.example": false, "ftp://a": false, "/a b": false, "https:///a": false, "/a\nb": false,
	} {
		if isLocation(text) != want {
			t.Errorf("%q: %t, want %t", text, !want, want)
		}
	}
}
