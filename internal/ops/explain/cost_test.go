package explain

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// gateways is how many have the same port.
const gateways = 20

// rig is an Explainer of a world.
type rig struct {
	*Explainer
	*world.World
	t    *testing.T
	meta model.Meta // of what apply makes
}

// newRig has some Gateways, g0, g1 and so on, on port 80. Each has a host of its own ("g7.ex") with many routes, and
// all have all.ex, below /.
func newRig(t *testing.T, gateways int) *rig {
	t.Helper()
	w := world.New(world.Config{
		Dialects:    dataplanes.All(),
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	r := &rig{New(Config{World: w}), w, t, model.Meta{Generation: 1}}
	w.Graph.Apply("start", w.Sources.MarkSynced)
	objects := []string{
		"{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: cardea}, " +
			"spec: {controllerName: cardea.dev/gateway-controller}}",
		xbackend("app"), xbackend("other"),
	}
	for i := range gateways {
		g := fmt.Sprintf("g%d", i)
		objects = append(objects, fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: "+
			"%s}, "+
			"spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}}", g),
			newRoute(g, g, g+".ex", "/", "app"), newRoute("all-"+g, g, "all.ex", "/all", "app"))
		for n := range 10 {
			objects = append(objects, newRoute(fmt.Sprintf("%s-%d", g, n), g, fmt.Sprintf("%s-%d.ex", g, n), "/", "other"))
		}
	}
	r.apply(objects...)
	return r
}

func xbackend(name string) string {
	return fmt.Sprintf("{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, metadata: {name: %s}, "+
		"spec: {type: ExternalHostname, port: {number: 3000}, externalHostname: {hostname: %[1]s.internal}}}", name)
}

func newRoute(name, gateway, host, path, backend string) string {
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s}, spec: "+
		"{parentRefs: [{name: %s}], "+
		"hostnames: [%s], rules: [{matches: [{path: {value: %s}}], "+
		"backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: %s}]}]}}", name, gateway, host, path,
		backend)
}

var schemas = sync.OnceValue(func() *schema.Schema { return schema.New(kinds.NewCatalog()) })

// apply makes edits, and waits until they are done.
func (r *rig) apply(texts ...string) {
	r.t.Helper()
	s := schemas()
	var list []*schema.Object
	for _, text := range texts {
		b, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			r.t.Fatal(err)
		}
		var doc map[string]any
		if err := utiljson.Unmarshal(b, &doc); err != nil { // integers stay integers
			r.t.Fatal(err)
		}
		o, problems := s.Check(doc, schema.Options{})
		if len(problems) > 0 {
			r.t.Fatalf("%v\n%s", problems, text)
		}
		list = append(list, o)
	}
	r.World.Graph.Apply("test", func(b *flow.Batch) {
		for _, o := range list {
			r.Sources.KindSource(o.Ref.Kind()).Set(b, o.Ref, r.meta, o.Spec)
		}
	})
	r.World.Graph.Settle()
}

func (r *rig) question(url string) *requestQuestion {
	r.t.Helper()
	c, err := Question{URL: url}.parseRequest()
	if err != nil {
		r.t.Fatal(err)
	}
	return &requestQuestion{parsedRequest: c}
}

// TestCostOfARequest: of many Gateways on one port those are asked that have the request's host, one after the other
// until one takes it, and no more than a few. Of each, what decides about that host is looked at.
func TestCostOfARequest(t *testing.T) {
	r := newRig(t, gateways)
	const five = "default/g0, default/g1, default/g10, default/g11, default/g12"
	for _, c := range []struct {
		url, gateway    string
		gathered, built int // of the Gateways, how many are looked into, and how many are simulated
		notes           int
		first           string
	}{
		{"http://g7.ex/", "default/g7", 1, 1, 1, "Gateways " + five + " and 14 more have this port, too: --gateway chooses"},
		{"http://all.ex/all", "default/g0", maxCandidates, 1, 1, "Gateways default/g1, "},
		{"http://all.ex/none", "default/g0", maxCandidates, maxCandidates, 1,
			"--gateway chooses; 12 of the Gateways with this host were not asked"},
		{"http://none.ex/", "default/g0", 1, 1, 1 + maxNear + 1, "--gateway chooses"},
		{"http://all.ex:81/", "", 0, 0, 1, "Gateways " + five + " and 15 more have port 80"},
	} {
		q := r.question(c.url)
		if err := r.answerQuestion(q); err != nil {
			t.Fatal(err)
		}
		if q.story.Gateway != c.gateway || len(q.story.Notes) != c.notes {
			t.Errorf("%s: %s, %d notes, want %s, %d: %q", c.url, q.story.Gateway, len(q.story.Notes), c.gateway, c.notes,
				q.story.Notes)
		} else if !strings.Contains(q.story.Notes[0], c.first) {
			t.Errorf("%s: the note is %q, want %q", c.url, q.story.Notes[0], c.first)
		}
		gathered, built := 0, 0
		for _, w := range q.candidates {
			if w.parts != nil {
				gathered++
			}
			if w.result.Table.Name != "" {
				built++
			}
			if w.parts == nil {
				continue
			}
			// A listener, its table, a cluster, and the five filters that keep state: each is a resource of its own.
			if n := len(w.parts.Offered); n > 8 {
				t.Errorf("%s: %d resources of %s are looked at: %v", c.url, n, w.port.Key.Gateway, w.parts)
			}
			for name, parts := range w.parts.Offered {
				if len(parts) > 2 && name.Type == xdstypes.Routes {
					t.Errorf("%s: %d virtual hosts of %s are looked at", c.url, len(parts)-1, w.port.Key.Gateway)
				}
			}
		}
		if gathered != c.gathered || built != c.built {
			t.Errorf("%s: %d Gateways are looked into and %d simulated, want %d and %d", c.url, gathered, built, c.gathered,
				c.built)
		}
	}
}

// edited is a question during whose work turns go on.
type edited struct {
	questionSteps
	edit            func(n int)
	gathered, works int
	open            bool // so is a View
}

func (e *edited) gatherRefs(q *inquiry) {
	e.gathered++
	e.open = e.gathered > maxTries
	e.questionSteps.gatherRefs(q)
}

func (e *edited) doSlowWork() error {
	if e.works++; !e.open {
		e.edit(e.works) // it does not return while a View is open
	}
	return e.questionSteps.doSlowWork()
}

// TestTurnsGoOn: while a question is worked at turns go on. What they change elsewhere does not matter to it; what they
// change of it has it asked anew, and at last turns wait. So what is told is a state that there was.
func TestTurnsGoOn(t *testing.T) {
	r := newRig(t, gateways)
	for _, c := range []struct {
		name     string
		edit     func(n int)
		gathered int
		match    string
	}{
		{"elsewhere", func(n int) { r.apply(newRoute("g3", "g3", "g3.ex", fmt.Sprintf("/%d", n), "app")) }, 1, "every path"},
		{"once", func(n int) {
			if n == 1 {
				r.apply(newRoute("g7", "g7", "g7.ex", "/a", "app"))
			}
		}, 2, "paths below /a"},
		{"again and again", func(n int) { r.apply(newRoute("g7", "g7", "g7.ex", "/a/"+strings.Repeat("b", n), "app")) },
			maxTries + 1, ""},
	} {
		q := r.question("http://g7.ex/a/bbb")
		e := &edited{questionSteps: q, edit: c.edit}
		if err := r.answerQuestion(e); err != nil {
			t.Fatal(err)
		}
		if c.match == "" {
			c.match = "paths below /a/" + strings.Repeat("b", maxTries)
		}
		if e.gathered != c.gathered || len(q.story.Rules) != 1 || q.story.Rules[0].Match != c.match {
			t.Errorf("%s: gathered %d times, want %d; told %+v, want %q", c.name, e.gathered, c.gathered, q.story.Rules, c.match)
		}
	}
	o := &objectQuestion{ref: model.Ref(model.KindHTTPRoute, "default", "all-g7")}
	e := &edited{questionSteps: o, edit: func(n int) {
		if n == 1 {
			r.apply(newRoute("all-g7", "g7", "all.ex", "/everything", "app"))
		}
	}}
	if err := r.answerQuestion(e); err != nil || e.gathered != 2 {
		t.Errorf("%v, gathered %d times, want twice", err, e.gathered)
	}
	if !slices.ContainsFunc(o.story.Made, func(m RenderedPart) bool { return m.Part == "all.ex" }) {
		t.Errorf("became %+v", o.story.Made)
	}
}
