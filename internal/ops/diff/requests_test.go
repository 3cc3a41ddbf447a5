package diff

import (
	"slices"
	"strings"
	"testing"
)

// TestRequestsAreTold as a shell takes them.
func TestRequestsAreTold(t *testing.T) {
	match := func(matches string) string {
		return strings.Replace(route("a", "a.ex", "/"), "backendRefs", "matches: ["+matches+"], backendRefs", 1)
	}
	for match, want := range map[string]string{
		match(`{headers: [{name: x-a, value: "b c"}]}`): `GET http://a.ex:80/ -H 'x-a:b c'`,
		match(
			`{headers: [{name: x-a, value: "it's $b"}]}`,
		): `GET http://a.ex:80/ -H 'x-a:it'\''s $b'`,
		match(`{headers: [{name: x-a, value: "b\tc'"}]}`):                            `GET http://a.ex:80/ -H $'x-a:b\tc\''`,
		match(`{queryParams: [{name: a, value: b}, {name: c, value: d}]}`):           `GET 'http://a.ex:80/?a=b&c=d'`,
		match(`{path: {value: "/a(b)"}}`):                                            `GET 'http://a.ex:80/a(b)'`,
		match(`{headers: [{name: Host, value: a.ex}]}`):                              `GET http://a.ex:80/ -H host:a.ex`,
		match(`{headers: [{name: host, type: RegularExpression, value: "a[.]ex"}]}`): `GET http://a.ex:80/ -H host:a.ex`,
	} {
		got := shown(newRig(t, route("b", "b.ex", "/")).diff(false, match))
		if len(got) != 1 || got[0] != want+": 404 -> XBackend default/app" {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
		}
	}
}

// TestWhatDependsOnHeaders: what a route does to requests with some headers only is shown by requests that have them.
// What is the same for several is told once.
func TestWhatDependsOnHeaders(t *testing.T) {
	with := func(filters string) string {
		return strings.Replace(route("a", "a.ex", "/"), "backendRefs", "filters: ["+filters+"], backendRefs", 1)
	}
	cors := func(fields string) string { return with("{type: CORS, cors: {" + fields + "}}") }
	headers := func(fields string) string {
		return with("{type: RequestHeaderModifier, requestHeaderModifier: {" + fields + "}}")
	}
	const (
		app       = "XBackend default/app"
		get       = "GET http://a.ex:80/"
		preflight = "OPTIONS http://a.ex:80/ -H access-control-request-headers:x-witness -H " +
			"access-control-request-method:GET -H origin:"
		both    = `allowOrigins: ["https://a.ex", "https://b.ex"]`
		allowed = "response header access-control-allow-origin: "
		aged    = "response header access-control-max-age: 5, response header vary: Origin"
		varied  = app + ", response header vary: Origin (append)"
	)
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"an origin leaves": {cors(`allowOrigins: ["https://a.ex", "https://*.b.ex"]`), cors(`allowOrigins: ["https://a.ex"]`),
			[]string{
				get + " -H origin:https://a.b.ex: " + varied + ", " + allowed + "https://a.b.ex (set) -> " + varied,
				preflight + "https://a.b.ex: 200, " + allowed + "https://a.b.ex, " + aged + " -> 200, " + aged,
			}},
		"any origin comes": {cors(`allowOrigins: ["https://a.ex"]`), cors(`allowOrigins: ["*"]`), []string{
			get + " -H origin:https://any.example: " + varied + " -> " + varied + ", " + allowed + "https://any.example (set)",
			preflight + "https://any.example: 200, " + aged + " -> 200, " + allowed + "https://any.example, " + aged,
		}},
		"the same of all origins": {cors(both), cors(both + ", maxAge: 6"), []string{
			preflight + "https://a.ex: 200, " + allowed + "https://a.ex, " + aged + " -> 200, " + allowed + "https://a.ex, " +
				strings.Replace(aged, "5", "6", 1),
		}},
		"CORS of a route that leaves": {cors(`allowOrigins: ["https://a.ex"]`), route("a", "a.ex", "/"), []string{
			get + ": " + varied + " -> " + app,
			get + " -H origin:https://a.ex: " + varied + ", " + allowed + "https://a.ex (set) -> " + app,
			preflight + "https://a.ex: 200, " + allowed + "https://a.ex, " + aged + " -> " + app,
		}},
		"a header that is removed": {route("a", "a.ex", "/"), headers("remove: [x-a]"), []string{
			get + " -H x-a:witness: " + app + " -> " + app + ", request header x-a is removed",
		}},
		"a header that is set, and not added": {headers("add: [{name: x-a, value: b}]"),
			headers("set: [{name: x-a, value: b}]"), []string{
				get + " -H x-a:witness: " + app + ", request header x-a: witness, b -> " + app + ", request header x-a: b",
			}},
		"a route that comes": {route("b", "b.ex", "/"), headers("remove: [x-a]"), []string{get + ": 404 -> " + app}},
		"another backend, besides": {
			headers("remove: [x-a]"), strings.Replace(headers("remove: [x-a]"), "kind: XBackend, name: app",
				"kind: XBackend, name: none", 1), []string{
				get + ": " + app + " -> 500",
				get + " -H x-a:witness: " + app + ", request header x-a is removed -> 500",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shown(newRig(t, c.before).diff(false, c.after)); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
