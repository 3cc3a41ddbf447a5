package world_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// served is a Gateway with a route for each backend.
const served = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: default}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: default}
spec:
  parentRefs: [{name: web}]
  hostnames: [shop.example]
  rules:
  - backendRefs:
    - {name: app, port: 80}
    - {name: app, port: 81}
    - {group: gateway.networking.x-k8s.io, kind: XBackend, name: pods}
    - {group: gateway.networking.x-k8s.io, kind: XBackend, name: far}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: calls, namespace: default}
spec:
  parentRefs: [{name: web}]
  hostnames: [calls.example]
  rules: [{backendRefs: [{name: app, port: 80}]}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: far, namespace: default}
spec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: far.example}}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: pods, namespace: default}
spec: {type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: pods}}}
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: default}
spec: {SELECTOR ports: [{name: a, port: 80}, {name: b, port: 81}]}
`

// appSlice has endpoints of the Service; podsSlice those of the XBackend.
const (
	appSlice = `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: app, namespace: default, labels: {kubernetes.io/service-name: app}}
addressType: IPv4
endpoints: [ENDPOINTS]
ports: [{name: a, port: 8080}]
`
	podsSlice = `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pods, namespace: default, labels: {cardea.dev/xbackend: pods}}
addressType: IPv4
endpoints: [ENDPOINTS]
ports: []
`
	ready   = "{addresses: [127.0.0.1]}, {addresses: [127.0.0.2]}"
	unready = "{addresses: [127.0.0.1], conditions: {ready: false}}"
)

const selector, none = "selector: {app: app},", ""

func objectsOf(selector string, slices ...string) string {
	return strings.Replace(served, "SELECTOR", selector, 1) + strings.Join(slices, "")
}

func newWorld(noPods bool) *world.World {
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, NoPods: noPods,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	return w
}

// says is what findings say, one each, sorted.
func says(list []model.Finding) []string {
	all := []string{}
	for _, f := range list {
		all = append(all, f.Object.String()+" "+f.Describe())
	}
	slices.Sort(all)
	return all
}

// The warnings, and what is added to each where there is no slice.
const (
	noA = "Service default/app port 80 has no ready endpoint: requests that Gateway default/web sends there fail"
	noB = "Service default/app port 81 has no ready endpoint: requests that Gateway default/web sends there fail"
	noX = "XBackend default/pods it has no ready endpoint: requests that Gateway default/web sends there fail"

	addToApp  = "; add an EndpointSlice with the label kubernetes.io/service-name: app"
	addToPods = "; add an EndpointSlice with the label cardea.dev/xbackend: pods"
)

// TestUnanswered: a backend without an endpoint is told of where this is known. A cluster makes the EndpointSlices of a
// selector, so one that has none yet is not told of, unless no pod runs here.
func TestUnanswered(t *testing.T) {
	of := func(slice, endpoints string) string { return strings.Replace(slice, "ENDPOINTS", endpoints, 1) }
	for _, c := range []struct {
		name, objects string
		pods, noPods  []string // what is told of where pods run, and where none do
	}{
		{"no slices", objectsOf(none), []string{noA + addToApp, noB + addToApp},
			[]string{noA + addToApp, noB + addToApp, noX + addToPods}},
		{"no slices, with a selector", objectsOf(selector), []string{},
			[]string{noA + addToApp, noB + addToApp, noX + addToPods}},
		{"slices without endpoints", objectsOf(selector, of(appSlice, ""), of(podsSlice, "")),
			[]string{noA, noB, noX}, []string{noA, noB, noX}},
		{"endpoints that are not ready", objectsOf(selector, of(appSlice, unready), of(podsSlice, unready)),
			[]string{noA, noB, noX}, []string{noA, noB, noX}},
		{"ready endpoints of one port", objectsOf(selector, of(appSlice, ready), of(podsSlice, ready)),
			[]string{noB}, []string{noB}},
	} {
		for _, noPods := range []bool{false, true} {
			want := c.pods
			if noPods {
				want = c.noPods
			}
			w := newWorld(noPods)
			apply(t, w, c.objects)
			if got := says(w.Findings()); !slices.Equal(got, want) {
				t.Errorf("%s, no pods: %t: found\n%s\nwant\n%s", c.name, noPods, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
			app := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.HasPrefix(s, "Service") })
			if got := says(w.FindingsOf(model.Ref(model.KindService, "default", "app"))); !slices.Equal(got, app) {
				t.Errorf("%s, no pods: %t: of the Service: %q, want %q", c.name, noPods, got, app)
			}
		}
	}
}

// TestUnansweredIsFollowed: the warning is told when the last ready endpoint goes, once for all that send requests
// there, and that it is gone when one comes.
func TestUnansweredIsFollowed(t *testing.T) {
	w := newWorld(true)
	follower := w.FollowFindings()
	defer follower.Stop()
	of := func(endpoints string) string { return strings.Replace(appSlice, "ENDPOINTS", endpoints, 1) }
	changes := func() (come, gone []string) {
		w.Graph.View(func(v flow.View) {
			came, went := follower.Changes(v)
			come, gone = says(came), says(went)
		})
		return come, gone
	}
	apply(t, w, objectsOf(none))
	all := []string{noA + addToApp, noB + addToApp, noX + addToPods}
	if come, gone := changes(); !slices.Equal(come, all) || len(gone) > 0 {
		t.Errorf("without endpoints: %q came, %q went", come, gone)
	}
	apply(t, w, strings.TrimPrefix(of(ready), "\n---\n"))
	if come, gone := changes(); len(come) > 0 || !slices.Equal(gone, []string{noA + addToApp}) {
		t.Errorf("with endpoints of a port: %q came, %q went", come, gone)
	}
	apply(t, w, strings.TrimPrefix(of(unready), "\n---\n"))
	if come, gone := changes(); !slices.Equal(come, []string{noA}) || len(gone) > 0 {
		t.Errorf("with endpoints that are not ready: %q came, %q went", come, gone)
	}
}

// TestEndpoints: the number of ready endpoints of each port that a route names; nothing of a hostname, nor of what no
// route names.
func TestEndpoints(t *testing.T) {
	w := newWorld(false)
	apply(t, w, objectsOf(none, strings.Replace(appSlice, "ENDPOINTS", ready, 1),
		strings.Replace(podsSlice, "ENDPOINTS", "{addresses: [127.0.0.1]}", 1), `
---
apiVersion: v1
kind: Service
metadata: {name: unnamed, namespace: default}
spec: {ports: [{port: 80}]}
`))
	want := map[model.ObjectRef]string{
		model.Ref(model.KindService, "default", "app"):   "80:2,81:0",
		model.Ref(model.KindXBackend, "default", "pods"): "1",
	}
	w.Graph.View(func(v flow.View) {
		if got := w.EndpointCounts(v); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
