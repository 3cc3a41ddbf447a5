package world_test

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

const setObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: one, namespace: infra}
spec:
  gatewayClassName: cardea
  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {tenant: "yes"}}}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: two, namespace: infra}
spec:
  gatewayClassName: cardea
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, port: 81, protocol: HTTP}]
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {tenant: "yes"}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: shop, namespace: shop}
spec:
  parentRef: {name: one, namespace: infra}
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: shop}
spec:
  parentRefs: [{kind: ListenerSet, name: shop}]
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: a.example}}]}]
`

// TestSetsFollowTheirGateway: a ListenerSet serves at the Gateway that it names, as long as that permits it, whatever
// was before. The sections of a set and of its Gateway may have one name.
func TestSetsFollowTheirGateway(t *testing.T) {
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	set, route := model.Ref(model.KindListenerSet, "shop", "shop"), model.Ref(model.KindHTTPRoute, "shop", "shop")
	want := func(gateway, reason string, ports ...string) {
		t.Helper()
		w.Graph.Settle()
		w.Graph.View(func(v flow.View) {
			for key, p := range flow.All(v, w.Graph.Panics()) {
				t.Errorf("%s panicked on %s: %s", key.Collection, key.Key, p.Message)
			}
			l, serves := flow.Get(v, w.Plan.Listeners, model.ListenerKey{Parent: set, Section: "http"})
			if serves != (gateway != "") || serves && l.Gateway != model.Ref(model.KindGateway, "infra", gateway) {
				t.Errorf("the listener serves at %v, want %q", l.Gateway, gateway)
			}
			report, _ := w.Reports.ForKind(model.KindListenerSet).Get(v, set)
			status, _ := report.Status.(gatewayv1.ListenerSetStatus)
			if got := reasonOf(status.Conditions, "Accepted"); got != reason {
				t.Errorf("the set has Accepted with %q, want %q", got, reason)
			}
			var bound []string
			for key := range w.Outputs.All(v, xdstypes.Listener) {
				bound = append(bound, key.Gateway.Name()+" "+key.Name)
			}
			r, _ := flow.Get(v, w.Plan.Routes, route)
			if served := len(r.Listeners) > 0; served != (gateway != "") {
				t.Errorf("the route serves at %v", r.Listeners)
			}
			for _, port := range ports {
				if !slices.Contains(bound, port) {
					t.Errorf("listeners are %q, want %q", bound, port)
				}
			}
		})
	}
	applyTo(t, w, setObjects, func(*schema.Object) {})
	want("one", "Accepted", "one 127.0.0.1:80", "one 127.0.0.1:8080", "two 127.0.0.1:81")
	moved := strings.ReplaceAll(setObjects, "parentRef: {name: one", "parentRef: {name: two")
	applyTo(t, w, moved, func(*schema.Object) {})
	want("two", "Accepted", "one 127.0.0.1:80", "two 127.0.0.1:8080", "two 127.0.0.1:81")
	applyTo(t, w, setObjects, func(*schema.Object) {})
	want("one", "Accepted", "one 127.0.0.1:8080")
	applyTo(t, w, strings.ReplaceAll(setObjects, `, labels: {tenant: "yes"}`, ""), func(*schema.Object) {})
	want("", "NotAllowed", "one 127.0.0.1:80", "two 127.0.0.1:81")
	applyTo(t, w, setObjects, func(*schema.Object) {})
	want("one", "Accepted", "one 127.0.0.1:8080")
}
