package envoy

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

func prefix(value string) model.Match {
	return model.Match{Path: model.PathMatch{Type: model.PathPrefix, Value: value}}
}

func to(names ...string) []model.WeightedBackend {
	var list []model.WeightedBackend
	for _, name := range names {
		list = append(list, model.WeightedBackend{Backend: service(name), Weight: 1})
	}
	return list
}

// TestMatches holds one match against calls; hosts keep the cases apart.
func TestMatches(t *testing.T) {
	header := func(name, value string, regex bool) model.Match {
		return model.Match{Headers: []model.ValueMatch{{Name: name, Value: value, Regex: regex}}}
	}
	query := func(name, value string, regex bool) model.Match {
		return model.Match{Query: []model.ValueMatch{{Name: name, Value: value, Regex: regex}}}
	}
	cases := []struct {
		host    string
		match   model.Match
		yes, no []call
	}{
		{
			host: "zero.test", match: model.Match{},
			yes: []call{{URI: "/"}, {URI: "/any/thing?x=y", Method: "POST"}},
		},
		{
			host: "all.test", match: prefix("/"),
			yes: []call{{URI: "/"}, {URI: "/a"}},
		},
		{
			host: "prefix.test", match: prefix("/a/b"),
			yes: []call{{URI: "/a/b"}, {URI: "/a/b/"}, {URI: "/a/b/c"}, {URI: "/a/b?x=1"}, {URI: "/x/../a/b"}, {URI: "//a/b"}},
			no:  []call{{URI: "/a/bc"}, {URI: "/a"}, {URI: "/A/b"}, {URI: "/a/b/../c"}},
		},
		{
			host: "slash.test", match: prefix("/a/"),
			yes: []call{{URI: "/a"}, {URI: "/a/"}, {URI: "/a/b"}},
			no:  []call{{URI: "/ab"}},
		},
		{
			host: "exact.test", match: model.Match{Path: model.PathMatch{Type: model.PathExact, Value: "/a/b"}},
			yes: []call{{URI: "/a/b"}, {URI: "/a/b?x=1"}},
			no:  []call{{URI: "/a/b/"}, {URI: "/a/b/c"}, {URI: "/a"}},
		},
		{
			host: "regex.test", match: model.Match{Path: model.PathMatch{Type: model.PathRegex, Value: "/v[0-9]+/.*"}},
			yes: []call{{URI: "/v1/x"}, {URI: "/v22/?q=1"}},
			no:  []call{{URI: "/v/x"}, {URI: "/a/v1/x"}, {URI: "/v1"}},
		},
		{
			host: "method.test", match: model.Match{Method: "PATCH"},
			yes: []call{{URI: "/", Method: "PATCH"}},
			no:  []call{{URI: "/"}, {URI: "/", Method: "POST"}},
		},
		{
			host: "header.test", match: header("X-Kind", "a.c", false),
			yes: []call{{URI: "/", Header: map[string]string{"x-kind": "a.c"}}},
			no: []call{{URI: "/"}, {URI: "/", Header: map[string]string{"X-Kind": "abc"}},
				{URI: "/", Header: map[string]string{"X-Kind": "A.C"}}},
		},
		{
			host: "header-regex.test", match: header("x-kind", "a.c", true),
			yes: []call{{URI: "/", Header: map[string]string{"X-Kind": "abc"}}},
			no: []call{{URI: "/"}, {URI: "/", Header: map[string]string{"X-Kind": "xabc"}},
				{URI: "/", Header: map[string]string{"X-Kind": "abcx"}}},
		},
		{
			host: "host-header.test", match: header("Host", "host-header.test", false),
			yes: []call{{URI: "/"}},
		},
		{
			host: "query.test", match: query("k", "v", false),
			yes: []call{{URI: "/?k=v"}, {URI: "/x?a=b&k=v"}},
			no:  []call{{URI: "/"}, {URI: "/?k=vv"}, {URI: "/?K=v"}, {URI: "/?k="}},
		},
		{
			host: "query-regex.test", match: query("k", "v+", true),
			yes: []call{{URI: "/?k=vvv"}},
			no:  []call{{URI: "/?k=av"}, {URI: "/"}},
		},
		{
			host: "both.test", match: model.Match{
				Path: model.PathMatch{Type: model.PathPrefix, Value: "/a"}, Method: "GET",
				Headers: []model.ValueMatch{{Name: "x", Value: "1"}, {Name: "y", Value: "2"}},
				Query:   []model.ValueMatch{{Name: "q", Value: "3"}},
			},
			yes: []call{{URI: "/a?q=3", Header: map[string]string{"x": "1", "y": "2"}}},
			no: []call{
				{URI: "/b?q=3", Header: map[string]string{"x": "1", "y": "2"}},
				{URI: "/a?q=3", Method: "PUT", Header: map[string]string{"x": "1", "y": "2"}},
				{URI: "/a?q=3", Header: map[string]string{"x": "1"}},
				{URI: "/a", Header: map[string]string{"x": "1", "y": "2"}},
			},
		},
	}
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		for i, c := range cases {
			w.serve(b, i, 80, "http", c.host, model.Rule{
				Key: testRuleKey(c.host), Matches: []model.Match{c.match}, Backends: to("web"),
			})
		}
	})
	startProxy(t, w.resources())
	for _, c := range cases {
		check := func(calls []call, status int) {
			for _, one := range calls {
				one.Host = c.host
				if a := one.do(t, bind); a.Status != status {
					t.Errorf("%+v: status %d, want %d", one, a.Status, status)
				}
			}
		}
		check(c.yes, 200)
		check(c.no, 404)
	}
}

// TestOrderOfEntries: the first entry that matches serves, and those of wider domains come after, each once.
func TestOrderOfEntries(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		for _, name := range []string{"narrow", "wide", "any"} {
			w.addBackend(b, service(name), startBackend(t, name))
		}
		w.serve(b, 1, 80, "http", "a.wild.test",
			model.Rule{Key: testRuleKey("narrow"), Matches: []model.Match{prefix("/n")}, Backends: to("narrow")})
		wide := model.Rule{Key: testRuleKey("wide"), Matches: []model.Match{prefix("/n/w"), prefix("/w")},
			Backends: to("wide")}
		w.serve(b, 1, 80, "http", "a.wild.test", wide) // on a domain and on one that covers it
		w.serve(b, 1, 80, "http", "*.wild.test", wide)
		w.serve(b, 1, 80, "http", "*", model.Rule{Key: testRuleKey("any"), Matches: []model.Match{prefix("/")},
			Backends: to("any")})
	})
	startProxy(t, w.resources())
	for _, c := range []struct{ host, uri, backend string }{
		{"a.wild.test", "/n/w", "narrow"},
		{"a.wild.test", "/w", "wide"},
		{"a.wild.test", "/x", "any"},
		{"b.wild.test", "/n/w", "wide"},
		{"b.wild.test", "/n", "any"},
		{"b.c.wild.test", "/w", "wide"},
		{"wild.test", "/w", "any"},
		{"a.wild.test.", "/w", "wide"}, // as resolvers write names
		{"b.wild.test.:8080", "/w", "wide"},
	} {
		if a := (call{Host: c.host, URI: c.uri}).do(t, bind); a.Seen.Backend != c.backend {
			t.Errorf("%s%s reached %q (%d), want %q", c.host, c.uri, a.Seen.Backend, a.Status, c.backend)
		} else if a.Seen.Host != c.host {
			t.Errorf("%s became %s on its way", c.host, a.Seen.Host)
		}
	}
}
