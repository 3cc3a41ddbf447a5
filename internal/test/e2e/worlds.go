package e2e

import (
	"testing"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// IsValid tells whether an API server would take an object.
func (p *Plugged) IsValid(doc map[string]any) bool {
	o, problems := p.schemas().Check(copyOf(doc).(map[string]any), schema.Options{})
	return o != nil && len(problems) == 0
}

// worldOf is a world that has objects, those of them that are valid.
func (p *Plugged) WorldOf(t *testing.T, docs []map[string]any) *world.World {
	t.Helper()
	return p.worldWith(t, func(b *flow.Batch, w *world.World) {
		for _, doc := range docs {
			p.Put(b, w, doc)
		}
	})
}

// worldWith is a world with a class, and what the first turn brings.
func (p *Plugged) worldWith(t *testing.T, first func(*flow.Batch, *world.World)) *world.World {
	t.Helper()
	w := world.New(world.Config{Dialects: dataplanes.All(), Extensions: p.Extensions, Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}, PortOffset: Offset}})
	w.Graph.Apply("fuzz", func(b *flow.Batch) {
		first(b, w)
		p.Put(b, w, map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": map[string]any{"name": "cardea"},
			"spec": map[string]any{"controllerName": model.ControllerName},
		})
		w.Sources.MarkSynced(b)
	})
	w.Graph.Settle()
	return w
}

// put makes an object known to a world, if it is valid.
func (p *Plugged) Put(b *flow.Batch, w *world.World, doc map[string]any) {
	o, problems := p.schemas().Check(copyOf(doc).(map[string]any), schema.Options{})
	if len(problems) == 0 && o != nil {
		w.Sources.KindSource(o.Ref.Kind()).Set(b, o.Ref, model.Meta{Generation: 1, Labels: o.Labels}, o.Spec)
	}
}

// drop takes an object out of a world.
func (p *Plugged) Drop(b *flow.Batch, w *world.World, doc map[string]any) {
	o, problems := p.schemas().Check(copyOf(doc).(map[string]any), schema.Options{})
	if len(problems) == 0 && o != nil {
		w.Sources.KindSource(o.Ref.Kind()).Delete(b, o.Ref)
	}
}
