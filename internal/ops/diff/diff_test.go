package diff

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/test/testcert"
)

const objects = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: app}
spec: {type: ExternalHostname, port: {number: 3000}, externalHostname: {hostname: localhost}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
`

// route sends a path of a host to the backend.
func route(name, host, path string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: web}]
  hostnames: [%q]
  rules:
  - {matches: [{path: {value: %s}}], backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]}
`, name, host, path)
}

// rig is a Differ of a world that has objects.
type rig struct {
	*Differ
	t *testing.T
}

func newRig(t *testing.T, texts ...string) *rig {
	t.Helper()
	extensions, err := world.ExtensionsOf(builtin.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, Extensions: extensions,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	d := New(Config{World: w})
	r := &rig{d, t}
	w.Graph.Apply("start", w.Sources.MarkSynced)
	r.apply(append(texts, objects)...)
	return r
}

func docs(t *testing.T, texts ...string) (list []map[string]any) {
	t.Helper()
	for _, text := range strings.Split(strings.Join(texts, "---\n"), "---\n") {
		b, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := utiljson.Unmarshal(b, &doc); err != nil { // integers stay integers
			t.Fatal(err)
		}
		list = append(list, doc)
	}
	return list
}

// apply makes the edits for good.
func (r *rig) apply(texts ...string) {
	r.t.Helper()
	list, err := r.readObjects(docs(r.t, texts...))
	if err != nil {
		r.t.Fatal(err)
	}
	arriving, _ := r.resolveApplied(list)
	r.world.Graph.Apply("test", func(b *flow.Batch) { r.Differ.applyEdits(b, arriving, nil) })
	r.world.Graph.Settle()
}

func (r *rig) diff(prune bool, texts ...string) Report {
	r.t.Helper()
	report, err := r.Diff(Edit{Objects: docs(r.t, texts...), Prune: prune})
	if err != nil {
		r.t.Error(err)
	}
	return report
}

// TestRemoval: what an edit removes goes, and nothing else does; what is not there can't.
func TestRemoval(t *testing.T) {
	r := newRig(t, route("a", "a.ex", "/"), route("b", "b.ex", "/"))
	gone := Removal{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "default", Name: "a"}
	absent := gone
	absent.Name = "c"
	report, err := r.Diff(Edit{Remove: []Removal{gone, absent}})
	if want := []string{"- HTTPRoute default/a"}; err != nil || !slices.Equal(report.Objects, want) {
		t.Errorf("objects are %q (%v), want %q", report.Objects, err, want)
	}
	if len(report.Requests) == 0 || !strings.Contains(report.Requests[0].Request, "a.ex") {
		t.Errorf("requests are %v", report.Requests)
	}
	if _, err := r.Diff(Edit{Remove: []Removal{{Kind: "Pod", Namespace: "default", Name: "a"}}}); err == nil ||
		!strings.Contains(err.Error(), "Pod default/a") {
		t.Errorf("got %v", err)
	}
}

// TestWhatIsAppliedIsWhatWasTold: an edit has changes until it is applied, and none after.
func TestWhatIsAppliedIsWhatWasTold(t *testing.T) {
	r := newRig(t, route("a", "a.ex", "/"))
	edit := []string{route("a", "a.ex", "/a"), route("b", "*.ex", "/"), objects}
	report := r.diff(false, edit...)
	if want := []string{"~ HTTPRoute default/a", "+ HTTPRoute default/b"}; !slices.Equal(report.Objects, want) {
		t.Errorf("objects are %q, want %q", report.Objects, want)
	}
	if len(report.Requests) == 0 || len(report.Refused) > 0 {
		t.Errorf("got %+v", report)
	}
	if again := r.diff(false, edit...); fmt.Sprint(again) != fmt.Sprint(report) {
		t.Errorf("asked again, it is\n%+v, was\n%+v", again, report)
	}
	r.apply(edit...)
	for _, prune := range []bool{false, true} {
		if report := r.diff(prune, edit...); !report.IsEmpty() {
			t.Errorf("prune %v: applied, and yet %+v", prune, report)
		}
	}
	if report := r.diff(true, objects); !slices.Equal(report.Objects,
		[]string{"- HTTPRoute default/a", "- HTTPRoute default/b"}) {
		t.Errorf("pruned: %q", report.Objects)
	}
}

// TestOtherWords: what is only written down in another way changes nothing, and nothing has to be known of a spec for
// that.
func TestOtherWords(t *testing.T) {
	plane := func(cpu, more string) string {
		return fmt.Sprintf("{apiVersion: cardea.dev/v1alpha1, kind: DataPlane, metadata: {name: a}, "+
			"spec: {resources: {requests: {cpu: %s}}, pod: {%s}}}\n", cpu, more)
	}
	r := newRig(t, strings.Replace(route("a", "", "/"), `[""]`, "[]", 1), plane("1000m", ""))
	same := []string{strings.Replace(route("a", "", "/"), `  hostnames: [""]`+"\n", "", 1),
		plane(`"1"`, "tolerations: []")}
	if report := r.diff(false, same...); !report.IsEmpty() {
		t.Errorf("the same in other words: %+v", report)
	}
	if report := r.diff(false, plane("2", "")); !slices.Equal(report.Objects, []string{"~ DataPlane default/a"}) {
		t.Errorf("another value: %+v", report)
	}
}

// TestWhatIsRead: what is applied is what would be read of it, and what would not be read is no change.
func TestWhatIsRead(t *testing.T) {
	r := newRig(t)
	r.applied = func(v flow.View, objects []input.ObjectContent) (list []input.ObjectContent, _ []model.ObjectRef) {
		for _, o := range objects {
			if _, found := r.world.Sources.KindSource(o.Ref.Kind()).Get(v, o.Ref); found || o.Ref.Name() == "read" {
				o.Labels = nil
				list = append(list, o)
			}
		}
		return list, nil
	}
	for name, want := range map[string][]string{"read": {"+ HTTPRoute default/read"}, "unread": nil} {
		labelled := strings.Replace(objects, "metadata: {name: web}", "metadata: {name: web, labels: {a: b}}", 1)
		if report := r.diff(false, route(name, "a.ex", "/"), labelled); !slices.Equal(report.Objects, want) {
			t.Errorf("%s: %q, want %q", name, report.Objects, want)
		}
	}
}

// TestWhatIsNotKnown: what an edit begins to refer to may be there. That it is not known is a warning, and nothing is
// refused for it.
func TestWhatIsNotKnown(t *testing.T) {
	secret, ca := model.Ref(model.KindSecret, "default", "cert"), model.Ref(model.KindConfigMap, "default", "ca")
	r := newRig(t, route("a", "a.ex", "/"))
	edit := []string{
		strings.Replace(objects, "listeners: [",
			"listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}, ", 1),
		route("b", "b.ex", "/"), strings.ReplaceAll(route("c", "c.ex", "/"), "name: app", "name: trusted"), `
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: trusted}
spec:
  type: ExternalHostname
  port: {number: 443}
  externalHostname: {hostname: app.example}
  tls:
    mode: ServerOnly
    validation: {hostname: app.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
`}
	if report := r.diff(false, edit...); len(report.Refused) < 2 {
		t.Errorf("it is known that nothing is there, and yet %q is refused", report.Refused)
	}
	r.applied = func(_ flow.View, objects []input.ObjectContent) ([]input.ObjectContent, []model.ObjectRef) {
		return objects, []model.ObjectRef{secret, ca}
	}
	report := r.diff(false, edit...)
	if len(report.Refused) > 0 || len(report.Warnings) < 2 {
		t.Errorf("refused: %q, warnings: %q", report.Refused, report.Warnings)
	}
}

// TestCostIsThatOfTheChange: of a table of many virtual hosts, those that could take a witness are looked at.
func TestCostIsThatOfTheChange(t *testing.T) {
	texts := []string{route("wide", "*.ex", "/wide"), strings.Replace(route("wider", "", "/wide"), `[""]`, "[]", 1)}
	for i := range 200 {
		texts = append(texts, route(fmt.Sprintf("r%d", i), fmt.Sprintf("h%d.ex", i), "/"))
	}
	r := newRig(t, texts...)
	edited, err := r.readObjects(docs(t, route("r7", "h7.ex", "/new")))
	if err != nil {
		t.Fatal(err)
	}
	arriving, _ := r.resolveApplied(edited)
	err = r.world.Graph.Try(func(b *flow.Batch) { r.Differ.applyEdits(b, arriving, nil) }, func(v flow.View) {
		report, scenes := r.readChanges(v)
		if len(scenes) != 1 || len(report.Objects) != 1 {
			t.Fatalf("%d scenes, %+v", len(scenes), report)
		}
		for name, parts := range scenes[0].after.Offered {
			if name.Type == xdstypes.Extension {
				continue // whole, and the same for all requests
			}
			var ids []string
			for _, p := range parts {
				ids = append(ids, p.ID)
			}
			if want := []string{"", "*", "*.ex", "h7.ex"}; len(ids) > 1 && !slices.Equal(ids, want) {
				t.Errorf("of %v %q are looked at, want %q", name, ids, want)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if report := r.diff(false, route("r7", "h7.ex", "/new")); len(report.Requests) == 0 {
		t.Errorf("no request shows it: %+v", report)
	}
}

// TestMuchIsCut: what is too much to compare is counted.
func TestMuchIsCut(t *testing.T) {
	var texts []string
	const n = maxCompared / 4 // each has more than four
	for i := range n {
		texts = append(texts, route(fmt.Sprintf("r%d", i), "a.ex", fmt.Sprintf("/%d", i)))
	}
	report := newRig(t).diff(false, texts...)
	if len(report.Requests) != maxListed || report.More == 0 || report.Unasked == 0 || len(report.Routes) != n {
		t.Errorf("%d requests, %d more, %d of %d routes not asked", len(report.Requests), report.More, report.Unasked,
			len(report.Routes))
	}
	var b strings.Builder
	if err := report.Print(&b); err != nil || !strings.Contains(b.String(), "more routes were not compared") {
		t.Errorf("%v\n%.200s", err, b.String())
	}
}

// TestFindingsThatMoveAreNotNew: a mistake that was there is not told again because a rule comes before it.
func TestFindingsThatMoveAreNotNew(t *testing.T) {
	wrong := strings.Replace(route("a", "a.ex", "/"), "name: app", "name: none", 1)
	r := newRig(t, wrong)
	rule := "  - {matches: [{path: {value: /first}}], backendRefs: [{group: gateway.networking.x-k8s.io, kind: " +
		"XBackend, name: app}]}\n"
	if report := r.diff(false, strings.Replace(wrong, "  rules:\n", "  rules:\n"+rule, 1)); len(report.Refused) > 0 ||
		report.IsEmpty() {
		t.Errorf("got %+v", report)
	}
	if report := r.diff(false, strings.Replace(wrong, "name: a}", "name: b}", 1)); len(report.Refused) != 1 {
		t.Errorf("another one's is new: %+v", report)
	}
}

// TestBadObjects are refused, each with its name.
func TestBadObjects(t *testing.T) {
	r := newRig(t)
	good := route("a", "a.ex", "/")
	for want, text := range map[string]string{
		"HTTPRoute default/a: not a valid object: it comes twice": good + "---\n" + good,
		"HTTPRoute default/a: not a valid object: spec.rulez: no": strings.Replace(good, "rules:", "rulez:", 1),
		"Deployment default/a: not a valid object: kind: ": "{apiVersion: apps/v1, kind: Deployment, metadata: " +
			"{name: a}}",
		": not a valid object: ": "{}",
		"HTTPRoute: not a valid object: metadata.name: ": "{apiVersion: gateway.networking.k8s.io/v1, kind: " +
			"HTTPRoute}",
		"HTTPRoute default/a: not a valid object: metadata.labels: m": strings.Replace(good, "{name: a}",
			"{name: a, labels: 3}", 1),
	} {
		if _, err := r.Diff(Edit{Objects: docs(t, text)}); !errors.Is(err, ErrBadObject) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	empty := world.New(world.Config{Dialects: dataplanes.All()})
	d := New(Config{World: empty})
	if _, err := d.Diff(Edit{Objects: docs(t, good)}); !errors.Is(err, flow.ErrNotSynced) {
		t.Errorf("of a world without objects it is %v", err)
	}
}

// TestDiffsAndTurnsAtOnce: each diff is of a whole state, and none of them leaves anything behind.
func TestDiffsAndTurnsAtOnce(t *testing.T) {
	r := newRig(t, route("a", "a.ex", "/"))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 10 {
				report := r.diff(i%2 == 0, objects, route("b", "b.ex", "/"))
				if !slices.Contains(report.Objects, "+ HTTPRoute default/b") || len(report.Refused) > 0 {
					t.Errorf("got %+v", report)
				}
			}
		})
	}
	for i := range 20 {
		r.apply(route("a", "a.ex", fmt.Sprintf("/%d", i)))
	}
	group.Wait()
	if report := r.diff(true, objects, route("a", "a.ex", "/19")); !report.IsEmpty() {
		t.Errorf("something is left: %+v", report)
	}
}

// listeners is the Gateway with others.
func listeners(list string) string {
	return strings.Replace(objects, "[{name: http, port: 80, protocol: HTTP}]", "["+list+"]", 1)
}

func tls(name, host, secret string) string {
	return fmt.Sprintf("{name: %s, hostname: %q, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: %s}]}}", name,
		host, secret)
}

// TestListenersAlone: a change of a listener is shown by a request that it takes or took, though no route differs.
func TestListenersAlone(t *testing.T) {
	const plain = "{name: http, port: 80, protocol: HTTP}"
	const grpcOnly = "{name: a, hostname: a.ex, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}]}}"
	beside := tls("a", "a.ex", "one") + ", "
	secrets := ""
	for _, name := range []string{"one", "two"} {
		pair := testcert.SelfSigned(name)
		secrets += fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ntype: kubernetes.io/tls\ndata: "+
			"{tls.crt: %s, tls.key: %s}\n",
			name, base64.StdEncoding.EncodeToString(pair.Certificate), base64.StdEncoding.EncodeToString(pair.PrivateKey))
	}
	anyHost := strings.Replace(route("any", "", "/"), `[""]`, "[]", 1)
	const app, closed, none = "XBackend default/app", "closed: no filter chain matches its SNI",
		"closed: no listener has port "
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"a port comes": {plain, plain + ", {name: more, port: 81, protocol: HTTP}", []string{
			"GET http://any.example:81/: " + none + "81 -> " + app,
		}},
		"a port leaves": {plain + ", {name: more, port: 81, protocol: HTTP}", plain, []string{
			"GET http://any.example:81/: " + app + " -> " + none + "81",
		}},
		"a port is another one": {plain, "{name: http, port: 81, protocol: HTTP}", []string{
			"GET http://any.example:80/: " + app + " -> " + none + "80",
			"GET http://any.example:81/: " + none + "81 -> " + app,
		}},
		"a hostname comes beside": {plain, plain + ", " + grpcOnly, []string{
			"GET http://a.ex:80/: " + app + " -> 404",
		}},
		"a hostname over TLS": {tls("a", "a.ex", "one"), tls("a", "b.ex", "one"), []string{
			"GET https://a.ex:443/: " + app + " -> " + closed,
			"GET https://b.ex:443/: " + closed + " -> " + app,
		}},
		"a hostname beside another": {beside + tls("b", "b.ex", "one"), beside + tls("b", "c.ex", "one"), []string{
			"GET https://c.ex:443/: " + closed + " -> " + app,
			"GET https://c.ex:443/ --sni a.ex: 404 -> 421",
		}},
		"a certificate": {tls("a", "*.ex", "one"), tls("a", "*.ex", "two"), []string{
			"GET https://any.ex:443/: " + app + ", with the certificate of Secret default/one -> " + app +
				", with the certificate of Secret default/two",
		}},
		"a certificate that is not there": {tls("a", "a.ex", "one"), tls("a", "a.ex", "none"), []string{
			"GET https://a.ex:443/: " + app + " -> " + none + "443",
		}},
		"nothing": {tls("a", "a.ex", "one"), tls("a", "a.ex", "one"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, anyHost+secrets)
			r.apply(listeners(c.before))
			var got []string
			for _, q := range r.diff(false, listeners(c.after)).Requests {
				got = append(got, fmt.Sprintf("%s: %s -> %s", q.Request, q.Before, q.After))
			}
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
			if len(c.want) == 0 && len(got) > 0 {
				t.Errorf("got %q", got)
			}
		})
	}
}
