package diff

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// TestWhatIsOffered: an edit is compared with what proxies are offered, where that is apart from what was rendered.
func TestWhatIsOffered(t *testing.T) {
	cluster := resource.Key{Gateway: model.Ref(model.KindGateway, "default", "web"), Type: resource.Cluster, Name: "xbackend/default/app"}
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
		"nothing is offered, another object": {nothing: true, edit: route("b", "b.ex", "/"), requests: []string{"GET http://b.ex:80/: 404 -> 503"}},
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
					found, _ := flow.Get(v, r.world.Outputs.Of(cluster.Type), cluster)
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
				t.Errorf("got\n%s\n%q\nwant\n%s\n%q", strings.Join(got, "\n"), report.Resources, strings.Join(c.requests, "\n"), c.resources)
			}
		})
	}
}
