package envoy

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestSession: a client that carries what it was given stays at its endpoint; one that does not goes round; if the
// endpoint is not there, another one takes the client.
func TestSession(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	session := func(name string, s model.Session) model.Rule {
		return model.Rule{Key: testRuleKey(name), Matches: []model.Match{{}}, Backends: to("both"), Session: &s}
	}
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("both"), startBackend(t, "one"), startBackend(t, "two"))
		w.serve(b, 1, 80, "http", "session.test", session("session", model.Session{Cookie: "s", Path: "/a"}))
		w.serve(b, 2, 80, "http", "permanent.test",
			session("permanent", model.Session{Cookie: "s", Path: "/", Lifetime: time.Hour}))
		w.serve(b, 3, 80, "http", "short.test",
			session("short", model.Session{Cookie: "s", Path: "/", Lifetime: time.Second}))
		w.serve(b, 5, 80, "http", "half.test",
			session("half", model.Session{Cookie: "s", Path: "/", Lifetime: 500 * time.Millisecond}))
		w.serve(b, 4, 80, "http", "header.test", session("header", model.Session{Header: "x-session"}))
	})
	startProxy(t, w.resources())

	cookie := func(host string) (first answer, set *http.Cookie) {
		first = call{Host: host, URI: "/a"}.do(t, bind)
		cookies := (&http.Response{Header: first.Header}).Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%s: cookies %v", host, first.Header["Set-Cookie"])
		}
		return first, cookies[0]
	}
	backends := func(c call) map[string]int {
		got := map[string]int{}
		for range 20 {
			got[c.do(t, bind).Seen.Backend]++
		}
		return got
	}
	if got := backends(call{Host: "session.test", URI: "/a"}); got["one"] == 0 || got["two"] == 0 {
		t.Errorf("without a session: %v", got)
	}
	first, c := cookie("session.test")
	if c.Name != "s" || c.Path != "/a" || c.MaxAge != 0 || !c.Expires.IsZero() || !c.HttpOnly {
		t.Errorf("the session's cookie: %v", c)
	}
	if _, half := cookie("half.test"); half.MaxAge != 1 {
		t.Errorf("the cookie of a session of half a second: %v, want one of a second", half)
	}
	value := func(c *http.Cookie) map[string]string {
		return map[string]string{"Cookie": "x=y; s=\"" + strings.Trim(c.Value, `"`) + "\""}
	}
	if got := backends(call{Host: "session.test", URI: "/a", Header: value(c)}); got[first.Seen.Backend] != 20 {
		t.Errorf("with a session at %s: %v", first.Seen.Backend, got)
	}
	if a := (call{Host: "session.test", URI: "/a", Header: map[string]string{"Cookie": "s=CgsxMC4wLjAuOTo4MA=="}}).do(t,
		bind); a.Status != 200 {
		t.Errorf("with a session at an endpoint that is not there: %+v", a) // "10.0.0.9:80", as Envoy writes it
	}
	if _, c := cookie("permanent.test"); c.Name != "s" || c.Path != "/" || c.MaxAge != 3600 {
		t.Errorf("the permanent cookie: %v", c)
	}
	// A client that keeps a cookie longer than it may does not keep its session.
	first, c = cookie("short.test")
	old := call{Host: "short.test", URI: "/a", Header: value(c)}
	for deadline := time.Now().Add(30 * time.Second); len(backends(old)) < 2; {
		if time.Now().After(deadline) {
			t.Fatalf("the session at %s never ends", first.Seen.Backend)
		}
	}
	first = call{Host: "header.test", URI: "/a"}.do(t, bind)
	back := map[string]string{"x-session": first.Header.Get("x-session")}
	if got := backends(call{Host: "header.test", URI: "/a", Header: back}); got[first.Seen.Backend] != 20 {
		t.Errorf("with a header for %s: %v", first.Seen.Backend, got)
	}
}

// TestSessionOfABackend: the weights decide who gets a request, and within that backend a client stays where it was.
// Each backend has its own session; the rule's, where it states one, is that of all.
func TestSessionOfABackend(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("a"), startBackend(t, "a1"), startBackend(t, "a2"))
		w.addBackend(b, service("b"), startBackend(t, "b1"), startBackend(t, "b2"))
		rule := func(name string, own *model.Session) model.Rule {
			return model.Rule{Key: testRuleKey(name), Matches: []model.Match{{}}, Session: own,
				Backends: []model.WeightedBackend{
					{Backend: service("a"), Weight: 1, Session: &model.Session{Header: "x-a"}},
					{Backend: service("b"), Weight: 1, Session: &model.Session{Header: "x-b"}},
				}}
		}
		w.serve(b, 1, 80, "http", "backends.test", rule("backends", nil))
		w.serve(b, 2, 80, "http", "rule.test", rule("rule", &model.Session{Header: "x-rule"}))
	})
	startProxy(t, w.resources())

	client, stays := map[string]string{}, map[string]string{}
	for range 80 {
		got := call{Host: "backends.test", URI: "/", Header: client}.do(t, bind)
		backend := got.Seen.Backend[:1] // a or b
		other := map[string]string{"a": "x-b", "b": "x-a"}[backend]
		if at := stays[backend]; at != "" && at != got.Seen.Backend || got.Header.Get(other) != "" {
			t.Fatalf("the client of %v came to %s: %v", stays, got.Seen.Backend, got.Header)
		}
		stays[backend] = got.Seen.Backend
		if session := got.Header.Get("x-" + backend); session != "" {
			client["x-"+backend] = session
		}
	}
	if len(client) != 2 {
		t.Errorf("sessions %v, at %v", client, stays)
	}
	if got := (call{Host: "rule.test", URI: "/"}).do(t, bind); got.Header.Get("x-rule") == "" ||
		got.Header.Get("x-a")+got.Header.Get("x-b") != "" {
		t.Errorf("the rule's own session: %v", got.Header)
	}
}
