package gateway

import (
	"net/netip"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestOwnPickers: a picker runs for a pool that names none, once a route that serves names the pool, unless the pool
// says that nobody picks; it is asked where it is, and the pool says why it does not run.
func TestOwnPickers(t *testing.T) {
	g := newGate(t, model.Budgets{})
	pool, route := model.Ref(model.KindInferencePool, "a", "llama"), model.Ref(model.KindHTTPRoute, "a", "route")
	set := func(annotation string) {
		labels := map[string]string{}
		if annotation != "" {
			labels[inferencev1.PickerAnnotation] = annotation
		}
		g.apply(func(b *flow.Batch) {
			g.in.InferencePools.Set(b, pool, input.Object[inferencev1.InferencePoolSpec]{
				Meta: model.Meta{LastEdit: &model.LastEdit{}, Labels: model.LabelsOf(labels)},
				Spec: &inferencev1.InferencePoolSpec{TargetPorts: []inferencev1.Port{{Number: 8000}}},
			})
		})
	}
	running := func(want bool) {
		t.Helper()
		g.graph.View(func(v flow.View) {
			if _, is := flow.Get(v, g.Plan.Pickers, pool); is != want {
				t.Errorf("a picker runs: %v", is)
			}
		})
	}
	says := func(text string) {
		t.Helper()
		g.graph.View(func(v flow.View) {
			p, _ := flow.Get(v, g.Backends.Pools, pool)
			for _, f := range p.Findings {
				if text != "" && strings.Contains(f.Message, text) {
					return
				}
			}
			if text != "" || len(p.Findings) > 0 {
				t.Errorf("the findings are %v", p.Findings)
			}
		})
	}
	g.apply(func(b *flow.Batch) {
		g.in.Environment.Set(b, model.ObjectRef{}, model.Environment{Pickers: true, Addresses: []string{"127.0.0.1"}})
	})
	set("")
	running(false)
	g.apply(func(b *flow.Batch) {
		group, kind := gatewayv1.Group(pool.Kind().Group()), gatewayv1.Kind("InferencePool")
		g.in.HTTPRoutes.Set(b, route, input.Object[gatewayv1.HTTPRouteSpec]{
			Meta: model.Meta{LastEdit: &model.LastEdit{}}, Spec: &gatewayv1.HTTPRouteSpec{
				CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "web"}}},
				Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
					BackendObjectReference: gatewayv1.BackendObjectReference{Group: &group, Kind: &kind, Name: "llama"},
				}}}}},
			}})
	})
	running(true)
	says("")
	set(inferencev1.NoPicker)
	running(false)
	says("the pool has no picker")
	set("Mine")
	running(true)
	says(`"Mine" is unknown`)
	set("")
	g.apply(func(b *flow.Batch) { g.in.Pickers.Set(b, pool, model.PickerState{Problem: "it ends at once"}) })
	says("it ends at once; each request goes to the endpoint with the fewest requests")
	at := model.PickerState{Address: netip.MustParseAddrPort("127.0.0.1:9002")}
	g.apply(func(b *flow.Batch) { g.in.Pickers.Set(b, pool, at) })
	says("")
	g.graph.View(func(v flow.View) {
		b, _ := flow.Get(v, g.Plan.Backends, plan.BackendKey{Gateway: theGateway, Backend: model.PickerKey(pool)})
		if len(b.Endpoints) != 1 || b.Endpoints[0].Port != 9002 || b.TLS == nil || !b.TLS.Unverified {
			t.Errorf("the picker is %+v", b)
		}
	})
}
