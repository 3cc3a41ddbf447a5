package errorresponses

import (
	"net/http"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestOrder: of pages that fit, one that names the code comes first, then the one with more conditions, then by name.
func TestOrder(t *testing.T) {
	list := inOrder([]page{
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

// TestJudge: a page with a status of its own may come in place of the answer, unless the client asks for another type.
func TestJudge(t *testing.T) {
	v := Value{Pages: []page{
		{Codes: []string{"5xx"}, Body: "a", From: Any},
		{Codes: []string{"404"}, Status: 200, Accept: []string{"text/html"}, From: Backend},
	}}
	for accept, want := range map[string]int{
		"text/html": 1, "a/b, Text/HTML;q=0.5": 1, "text/htmlx": 0, "x/text/html": 0, "*/*": 0, "": 0,
	} {
		got := judge(extend.Request{Header: http.Header{"Accept": {accept}}}, v)
		if len(got) != want || want == 1 && (got[0].Status != 200 || got[0].If == "") {
			t.Errorf("accept %q: %+v", accept, got)
		}
	}
	grpc := http.Header{"Accept": {"text/html"}, "Content-Type": {"application/grpc"}}
	if got := judge(extend.Request{Header: grpc}, v); len(got) > 0 {
		t.Errorf("a gRPC call gets a page: %+v", got)
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
