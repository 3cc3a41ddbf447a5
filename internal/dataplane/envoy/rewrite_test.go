package envoy

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

func toPrefix(value string) *model.PathRewrite { return &model.PathRewrite{Prefix: true, Value: value} }
func toPath(value string) *model.PathRewrite   { return &model.PathRewrite{Value: value} }

// pathRewrites holds for rewrites and for redirects.
var pathRewrites = []struct {
	match     model.PathMatch
	rewrite   *model.PathRewrite
	uri, want string
}{
	{prefix("/foo").Path, toPrefix("/xyz"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo").Path, toPrefix("/xyz/"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo/").Path, toPrefix("/xyz"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo/").Path, toPrefix("/xyz/"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo").Path, toPrefix("/xyz"), "/foo", "/xyz"},
	{prefix("/foo").Path, toPrefix("/xyz"), "/foo/", "/xyz/"},
	{prefix("/foo").Path, toPrefix(""), "/foo/bar", "/bar"},
	{prefix("/foo").Path, toPrefix(""), "/foo/", "/"},
	{prefix("/foo").Path, toPrefix(""), "/foo", "/"},
	{prefix("/foo").Path, toPrefix("/"), "/foo/bar", "/bar"},
	{prefix("/foo").Path, toPrefix("/"), "/foo/", "/"},
	{prefix("/foo").Path, toPrefix("/"), "/foo", "/"},
	{prefix("/foo").Path, toPrefix("/"), "/foo/foo/foo", "/foo/foo"},
	{prefix("/foo").Path, toPrefix("/"), "/foo//bar", "/bar"},
	{prefix("/").Path, toPrefix("/xyz"), "/a/b", "/xyz/a/b"},
	{prefix("/").Path, toPrefix("/xyz"), "/", "/xyz/"},
	{prefix("/").Path, toPrefix("/"), "/a/b", "/a/b"},
	{prefix("/foo.bar").Path, toPrefix("/"), "/foo.bar/x", "/x"},
	{prefix("/foo").Path, toPrefix("/%AB(x)%CD"), "/foo/x", "/%AB(x)%CD/x"},
	{prefix("/foo").Path, toPath("/whole"), "/foo/bar", "/whole"},
	{prefix("/foo").Path, toPath(`/w%AB(x)%25\1`), "/foo/bar", `/w%AB(x)%25\1`},
	{prefix("/foo").Path, toPath(""), "/foo/bar", "/"},
	{model.PathMatch{Type: model.PathExact, Value: "/foo"}, toPrefix("/xyz"), "/foo", "/xyz"},
	{model.PathMatch{Type: model.PathExact, Value: "/foo"}, toPrefix("/"), "/foo", "/"},
	{model.PathMatch{Type: model.PathRegex, Value: "/f.*"}, toPath("/whole"), "/foo/bar", "/whole"},
}

func TestRewrite(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		for i, c := range pathRewrites {
			name := fmt.Sprintf("c%d.test", i)
			w.serve(b, i, 80, "http", name, model.Rule{
				Key: testRuleKey(name), Matches: []model.Match{{Path: c.match}}, Backends: to("web"),
				Rewrite: &model.Rewrite{Path: c.rewrite},
			})
		}
		w.serve(b, 100, 80, "http", "host.test", model.Rule{
			Key: testRuleKey("host"), Matches: []model.Match{prefix("/a")}, Backends: to("web"),
			Rewrite: &model.Rewrite{Hostname: "other.test", Path: toPrefix("/b")},
		})
	})
	startProxy(t, w.resources())
	for i, c := range pathRewrites {
		host := fmt.Sprintf("c%d.test", i)
		for _, query := range []string{"", "?q=/foo&r=%20"} {
			a := call{Host: host, URI: c.uri + query}.do(t, bind)
			if a.Seen.URI != c.want+query || a.Seen.Host != host {
				t.Errorf("%s %+v: %s became %q (%d), want %q", c.match.Value, *c.rewrite, c.uri+query, a.Seen.URI, a.Status,
					c.want+query)
			}
			for name := range a.Seen.Header {
				if strings.HasPrefix(name, "X-Envoy-Original") {
					t.Errorf("the backend saw %s", name)
				}
			}
		}
	}
	if a := (call{Host: "host.test:99", URI: "/a/x"}).do(t, bind); a.Seen.Host != "other.test" || a.Seen.URI != "/b/x" {
		t.Errorf("host.test: %+v", a.Seen)
	}
}
