package controller

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestPickerAdmin: a picker is asked at one of its pods that are ready, whichever Gateway has requests for its pool.
func TestPickerAdmin(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	proxies := flow.NewSource[model.ObjectRef, plan.ProxySpec](g, "proxies")
	backends := flow.NewSource[plan.BackendKey, model.Backend](g, "backends")
	running := flow.NewSource[model.ObjectRef, plan.PickerSpec](g, "pickers")
	at := pickerAdmin(g, &plan.Plan{
		Proxies: proxies.Collection(), Backends: backends.Collection(), Pickers: running.Collection(),
	})
	pool := model.Ref(model.KindInferencePool, "a", "llama")
	one, two := model.Ref(model.KindGateway, "a", "one"), model.Ref(model.KindGateway, "a", "two")
	apply := func(edit func(b *flow.Batch)) {
		g.Apply("test", edit)
		g.Settle()
	}
	want := func(base string, serves bool) {
		t.Helper()
		if got, ok := at(pool); got != base || ok != serves {
			t.Errorf("%q, %v; want %q, %v", got, ok, base, serves)
		}
	}
	apply(func(b *flow.Batch) {
		proxies.MarkSynced(b)
		backends.MarkSynced(b)
		running.MarkSynced(b)
		proxies.Set(b, one, plan.ProxySpec{})
		proxies.Set(b, two, plan.ProxySpec{})
		running.Set(b, pool, plan.PickerSpec{UID: "1"})
	})
	want("", false)
	key := plan.BackendKey{Gateway: two, Backend: model.PickerKey(pool)}
	apply(func(b *flow.Batch) {
		backends.Set(b, key, model.Backend{Endpoints: []model.Endpoint{{Address: "fd00::7", Port: model.PickerPort}}})
	})
	want("http://[fd00::7]:9090", true)
	apply(func(b *flow.Batch) { running.Delete(b, pool) })
	want("", false) // the picker is somebody else's
}
