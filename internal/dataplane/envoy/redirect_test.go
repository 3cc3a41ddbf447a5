package envoy

import (
	"fmt"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestRedirectLocation: the port is the rule's, else that of the rule's scheme, else the listener's; never the Host
// header's.
func TestRedirectLocation(t *testing.T) {
	cases := []struct {
		redirect  model.Redirect
		want      string // for "f.example" at a listener on port 80
		on8080    string // the same at one on port 8080; "" is the same
		code      int
		otherHost bool
	}{
		{redirect: model.Redirect{}, want: "http://f.example/a/b?c=d", on8080: "http://f.example:8080/a/b?c=d"},
		{redirect: model.Redirect{Scheme: "https"}, want: "https://f.example/a/b?c=d"},
		{redirect: model.Redirect{Scheme: "http"}, want: "http://f.example/a/b?c=d"},
		{redirect: model.Redirect{Port: 81}, want: "http://f.example:81/a/b?c=d"},
		{redirect: model.Redirect{Port: 80}, want: "http://f.example/a/b?c=d"},
		{redirect: model.Redirect{Port: 443}, want: "http://f.example:443/a/b?c=d"},
		{redirect: model.Redirect{Scheme: "https", Port: 443}, want: "https://f.example/a/b?c=d"},
		{redirect: model.Redirect{Scheme: "https", Port: 80}, want: "https://f.example:80/a/b?c=d"},
		{redirect: model.Redirect{Scheme: "https", Port: 8443}, want: "https://f.example:8443/a/b?c=d"},
		{redirect: model.Redirect{Hostname: "g.example"}, want: "http://g.example/a/b?c=d",
			on8080: "http://g.example:8080/a/b?c=d"},
		{redirect: model.Redirect{Hostname: "g.example", Scheme: "https"}, want: "https://g.example/a/b?c=d"},
		{redirect: model.Redirect{Hostname: "g.example", Port: 99}, want: "http://g.example:99/a/b?c=d"},
		{redirect: model.Redirect{Hostname: "g.example", Port: 80}, want: "http://g.example/a/b?c=d"},
		{redirect: model.Redirect{Path: toPath("/x%y")}, want: "http://f.example/x%y?c=d",
			on8080: "http://f.example:8080/x%y?c=d"},
		{redirect: model.Redirect{Path: toPrefix("/x/y")}, want: "http://f.example/x/y/b?c=d",
			on8080: "http://f.example:8080/x/y/b?c=d"},
		{redirect: model.Redirect{Path: toPrefix("/"), StatusCode: 301}, want: "http://f.example/b?c=d",
			on8080: "http://f.example:8080/b?c=d"},
		{redirect: model.Redirect{StatusCode: 303, Scheme: "https"}, want: "https://f.example/a/b?c=d"},
		{redirect: model.Redirect{StatusCode: 307, Scheme: "https"}, want: "https://f.example/a/b?c=d"},
		{redirect: model.Redirect{StatusCode: 308, Scheme: "https"}, want: "https://f.example/a/b?c=d"},
	}
	w, on80, on8080 := newWorld(t), freePort(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, on80, model.HTTP, testListener("http", ""))
		w.addPort(b, 8080, on8080, model.HTTP, testListener("alt", ""))
		for i, c := range cases {
			if c.redirect.StatusCode == 0 {
				c.redirect.StatusCode = 302
			}
			rule := model.Rule{
				Key: testRuleKey(fmt.Sprint(i)),
				Matches: []model.Match{{Path: prefix("/a").Path,
					Headers: []model.ValueMatch{{Name: "case", Value: fmt.Sprint(i)}}}},
				Redirect: &c.redirect,
				ResponseHeaders: &model.HeaderModifier{
					Set: []model.Header{{Name: "x-set", Value: "by-rule"}},
				},
			}
			w.serve(b, i, 80, "http", "*", rule)
			w.serve(b, i, 8080, "alt", "*", rule)
		}
	})
	startProxy(t, w.resources())
	for i, c := range cases {
		code, second := c.redirect.StatusCode, c.on8080
		if code == 0 {
			code = 302
		}
		if second == "" {
			second = c.want
		}
		for bind, want := range map[int32]string{on80: c.want, on8080: second} {
			for _, host := range []string{"f.example", "f.example:19801", "f.example:80", "f.example:443"} {
				a := call{Host: host, URI: "/a/b?c=d", Header: map[string]string{"case": fmt.Sprint(i)}}.do(t, bind)
				if got := a.Header.Get("Location"); got != want || a.Status != code || a.Header.Get("x-set") != "by-rule" {
					t.Errorf("%+v, Host %s: %d %q, want %d %q", c.redirect, host, a.Status, got, code, want)
				}
			}
		}
	}
}

// TestRedirectPath runs the table of prefix replacement for redirects.
func TestRedirectPath(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		for i, c := range pathRewrites {
			name := fmt.Sprintf("c%d.test", i)
			w.serve(b, i, 80, "http", name, model.Rule{
				Key: testRuleKey(name), Matches: []model.Match{{Path: c.match}},
				Redirect: &model.Redirect{Path: c.rewrite, StatusCode: 302},
			})
		}
	})
	startProxy(t, w.resources())
	for i, c := range pathRewrites {
		host := fmt.Sprintf("c%d.test", i)
		for _, query := range []string{"", "?q=/foo&r=%20"} {
			a := call{Host: host, URI: c.uri + query}.do(t, bind)
			if got, want := a.Header.Get("Location"), "http://"+host+c.want+query; got != want {
				t.Errorf("%s %+v: %s became %q, want %q", c.match.Value, *c.rewrite, c.uri+query, got, want)
			}
		}
	}
}
