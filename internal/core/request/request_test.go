package request

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestWords: what differs for the backend is told, and not what every request gets; then what is done to the answer.
func TestWords(t *testing.T) {
	sent := Request{Host: "a.ex", Path: "/a", Header: http.Header{"X-Gone": {"1"}, "X-Kept": {"1"}}}
	e := Effect{
		Request: &Request{Host: "b.ex", Path: "/b", Header: http.Header{
			"X-Kept": {"1"}, "X-New": {"2"}, "X-Request-Id": {GeneratedID},
		}},
		Arrived:  http.Header{"X-Gone": {"1"}, "X-Kept": {"1"}, "X-Request-Id": {GeneratedID}},
		Response: []HeaderChange{{Action: Remove, Name: "X-Own"}, {Action: Set, Name: "X-Set", Value: "3"}},
		Header:   http.Header{"Location": {"/"}, GRPCStatus: {"12"}, "X-Answer": {"4"}},
		Session:  "cookie s", Unkept: "cookie u (path /u)",
		Limits: Limits{Total: time.Second, Attempt: time.Minute, Retries: 2, On: []string{"503", "reset"}},
	}
	want := []string{
		"host a.ex becomes b.ex", "path /a becomes /b", "request header x-gone is removed", "request header x-new: 2",
		"response header x-own is removed", "response header x-set: 3 (set)", "cookie s keeps the client at its endpoint",
		"cookie u (path /u) keeps no client here: the request is not below its path",
		"504 if the response takes longer than 1s", "each attempt may take 1m0s", "tried again up to 2 times on 503, reset",
		"response header x-answer: 4",
	}
	if got := e.Describe(sent); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestAnswer(t *testing.T) {
	for want, e := range map[string]Effect{
		"": {}, "404": {Status: 404}, "UNIMPLEMENTED (12)": {Status: 200, Header: http.Header{GRPCStatus: {"12"}}},
	} {
		if got := e.AnswerStatus(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

// TestAt: a request of a domain asks for a host of it, over TLS by its name unless the way in has one.
func TestAt(t *testing.T) {
	for _, c := range []struct {
		from      Request
		domain    string
		host, sni string
	}{
		{Request{}, "*", "any.example", ""},
		{Request{}, "*.a.ex", "any.a.ex", ""},
		{Request{TLS: true}, "a.ex", "a.ex", "a.ex"},
		{Request{TLS: true, SNI: "b.ex"}, "a.ex", "a.ex", "b.ex"},
	} {
		if got := NewGetRequest(c.from, c.domain); got.Host != c.host || got.SNI != c.sni || got.Method != "GET" ||
			got.Path != "/" {
			t.Errorf("%+v at %s: %+v", c.from, c.domain, got)
		}
	}
}

func TestEdits(t *testing.T) {
	for do, want := range map[HeaderAction][2]string{ // of a header that is there, and one that is not
		Remove: {"", ""}, Set: {"new", "new"}, Append: {"old,new", "new"}, Replace: {"new", ""}, Default: {"old", "new"},
	} {
		r := Request{Header: http.Header{"There": {"old"}}}
		for i, name := range []string{"there", "absent"} {
			HeaderChange{Action: do, Name: name, Value: "new"}.ApplyTo(r.Header)
			if got, _ := r.HeaderValue(name); got != want[i] {
				t.Errorf("%s %s: %q, want %q", do, name, got, want[i])
			}
		}
	}
}
