package diff

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/test/testcert"
)

// TestWhatIsOffered: an edit is compared with what proxies are offered, where that is apart from what was rendered.
func TestWhatIsOffered(t *testing.T) {
	cluster := resource.Key{Gateway: model.Ref(model.KindGateway, "default", "web"), Type: xdstypes.Cluster,
		Name: "xbackend/default/app"}
	at := func(host string) string { return strings.Replace(objects, "hostname: localhost", "hostname: "+host, 1) }
	const changed = "~ default/web: Cluster xbackend/default/app"
	for name, c := range map[string]struct {
		nothing             bool // nothing was accepted
		edit                string
		resources, requests []string
	}{
		"back to what is offered": {edit: at("localhost")},
		"to something else": {
			edit: at("c.example"), resources: []string{changed},
			requests: []string{
				"GET http://a.ex:80/: XBackend default/app as it was accepted last -> XBackend default/app at c.example:3000",
			},
		},
		"another object": {
			edit: route("b", "b.ex", "/"), requests: []string{"GET http://b.ex:80/: 404 -> XBackend default/app"},
		},
		"nothing is offered, another object": {nothing: true, edit: route("b", "b.ex", "/"),
			requests: []string{"GET http://b.ex:80/: 404 -> 503"}},
		"nothing is offered, to something else": {
			nothing: true, edit: at("c.example"), resources: []string{strings.Replace(changed, "~", "+", 1)},
			requests: []string{"GET http://a.ex:80/: 503 -> XBackend default/app at c.example:3000"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, route("a", "a.ex", "/"))
			var accepted *resource.Resource
			if !c.nothing {
				r.world.Graph.View(func(v flow.View) {
					found, _ := r.world.Outputs.Find(v, cluster)
					accepted = &found
				})
			}
			r.apply(at("b.example"))
			r.offered = func(key resource.Key) (*resource.Resource, bool) {
				if key != cluster {
					return nil, false
				}
				return accepted, true
			}
			report := r.diff(false, c.edit)
			if got := shown(report); !slices.Equal(got, c.requests) || !slices.Equal(report.Resources, c.resources) {
				t.Errorf("got\n%s\n%q\nwant\n%s\n%q", strings.Join(got, "\n"), report.Resources, strings.Join(c.requests, "\n"),
					c.resources)
			}
		})
	}
}

// TestAChainThatIsKept: a filter chain that proxies keep takes requests before an edit, and after it if the edit leaves
// its listener as it is.
func TestAChainThatIsKept(t *testing.T) {
	pair := testcert.SelfSigned("one")
	secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: one}\ntype: kubernetes.io/tls\ndata: "+
		"{tls.crt: %s, tls.key: %s}\n",
		base64.StdEncoding.EncodeToString(pair.Certificate), base64.StdEncoding.EncodeToString(pair.PrivateKey))
	listening := func(list string) string {
		return strings.Replace(objects, "{name: http, port: 80, protocol: HTTP}", list, 1)
	}
	r := newRig(t)
	r.apply(listening(tls("a", "a.ex", "one")+", "+tls("b", "b.ex", "one")), secret,
		strings.Replace(route("any", "", "/"), `[""]`, "[]", 1))
	accepted := map[resource.Key]resource.Resource{}
	r.world.Graph.View(func(v flow.View) {
		for _, of := range []resource.Type{xdstypes.Listener, xdstypes.Routes} {
			for key, value := range r.world.Outputs.All(v, of) {
				accepted[key] = value
			}
		}
	})
	r.apply(listening(tls("a", "a.ex", "one") + ", " + tls("b", "refused.ex", "one")))
	r.offered = func(key resource.Key) (*resource.Resource, bool) {
		kept, apart := accepted[key]
		if !apart {
			return nil, false
		}
		return &kept, true
	}
	report := r.diff(false, listening(tls("a", "a.ex", "one")+", "+tls("b", "b.ex", "one")))
	if len(report.Requests)+len(report.Resources)+len(report.Routes) > 0 {
		t.Errorf("back to what is offered: %+v", report)
	}
	for hosts, want := range map[[2]string]string{
		{"a.ex", "c.ex"}:       "GET https://b.ex:443/: XBackend default/app -> closed",
		{"c.ex", "refused.ex"}: "GET https://a.ex:443/: XBackend default/app -> closed",
	} {
		got := shown(r.diff(false, listening(tls("a", hosts[0], "one")+", "+tls("b", hosts[1], "one"))))
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%q: got\n%s\nwant %s", hosts, strings.Join(got, "\n"), want)
		}
		if strings.Contains(strings.Join(got, "\n"), "refused.ex") {
			t.Errorf("%q: the host that was refused is part of\n%s", hosts, strings.Join(got, "\n"))
		}
	}
}
