package explain

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cardea.dev/cardea/internal/core/request"
)

// TestRead: a question becomes what a client sends or begins, or an error where no client can.
func TestRead(t *testing.T) {
	get := func(host, path string) request.Request {
		return request.Request{Method: "GET", Host: host, Path: path, Header: http.Header{}}
	}
	with := func(r request.Request, change func(*request.Request)) request.Request {
		change(&r)
		return r
	}
	for _, c := range []struct {
		question Question
		port     int32
		want     request.Request
	}{
		{Question{URL: "http://a"}, 80, get("a", "/")},
		{Question{URL: "ws://a:81?b/c#d"}, 81, get("a:81", "/?b/c")},
		{Question{URL: `http://a/%zz\é b`}, 80, get("a", `/%zz\%C3%A9%20b`)},
		{Question{URL: "http://EXÄMPLE.ex:8080/"}, 8080, get("xn--exmple-cua.ex:8080", "/")},
		{Question{URL: "http://[::1]:82/"}, 82, get("[::1]:82", "/")},
		{Question{URL: "https://a/"}, 443, with(get("a", "/"), func(r *request.Request) { r.TLS, r.SNI = true, "a" })},
		{Question{URL: "https://127.0.0.1/"}, 443, with(get("127.0.0.1", "/"), func(r *request.Request) { r.TLS = true })},
		{Question{URL: "http://a/", Headers: []string{"host: b", "x:\té\xff "}}, 80,
			with(get("b", "/"), func(r *request.Request) { r.Header.Set("X", "é\xff") })},
	} {
		got, err := c.question.parseRequest()
		if err != nil || got.port != c.port || !cmp.Equal(got.Request, c.want) {
			t.Errorf("%+v: port %d (%v)\n%s", c.question, got.port, err, cmp.Diff(c.want, got.Request))
		}
	}
	for _, c := range []struct {
		question Question
		port     int32
		want     request.Connection
	}{
		{Question{URL: "tcp://a:9000"}, 9000, request.Connection{Port: 1}},
		{Question{URL: "udp://a:53/"}, 53, request.Connection{Port: 1, Datagrams: true}},
		{Question{URL: "tls://EXÄMPLE.ex"}, 443, request.Connection{Port: 1, TLS: true, SNI: "xn--exmple-cua.ex"}},
		{Question{URL: "tls://a:8443", SNI: "b"}, 8443, request.Connection{Port: 1, TLS: true, SNI: "b"}},
		{Question{URL: "tls://[::1]:8443"}, 8443, request.Connection{Port: 1, TLS: true}},
	} {
		got, err := c.question.parseRequest()
		if err != nil || got.port != c.port || !got.isConnection() || got.connection(1) != c.want {
			t.Errorf("%+v: port %d (%v) %+v", c.question, got.port, err, got.connection(1))
		}
	}
	for _, q := range []Question{
		{URL: "tcp://a"}, {URL: "udp://a"}, {URL: "tcp://:1"}, {URL: "tcp://a:0"}, {URL: "tls://a/b"},
		{URL: "tcp://a:1?b"}, {URL: "tcp://a:1", SNI: "b"}, {URL: "tls://a", Method: "GET"},
		{URL: "tls://a", Headers: []string{"x: y"}}, {URL: "tls://a", Body: "b"},
		{URL: "a/b"}, {URL: "ftp://a/"}, {URL: "http:///a"}, {URL: "http://a b/"}, {URL: "http://a:b/"},
		{URL: "http://a:70000/"}, {URL: "http://a/\n"},
		{URL: "http://a/", Method: "G E"}, {URL: "http://a/", Method: "é"}, {URL: "http://a/", Headers: []string{"x"}},
		{URL: "http://a/", Headers: []string{":path: /"}}, {URL: "http://a/", Headers: []string{"x y: 1"}},
		{URL: "http://a/", Headers: []string{"x: a\x01b"}},
	} {
		if got, err := q.parseRequest(); err == nil {
			t.Errorf("%+v: %+v, want an error", q, got)
		}
	}
}
