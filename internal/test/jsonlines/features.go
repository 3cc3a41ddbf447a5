package jsonlines

import (
	"encoding/json"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/features/cors"
)

// rendered is what a feature makes of a value: what a line says in a slot.
type rendered struct {
	slot  extend.Slot
	value any
}

// CORS is Cardea's own feature, which this data plane can serve, too.
func CORS() extend.Plugin {
	f := cors.Feature
	f.Renders = append(slices.Clone(f.Renders), extend.Rendering[extend.CORS]{
		DataPlane: DataPlane.Name, Value: func(c extend.CORS) any { return rendered{extend.SlotCORS, c} },
	})
	return f.Plug()
}

// renderer implements plan.Renderer. It can do what a feature has for requests.
type renderer struct{}

// RenderRule implements plan.Renderer.
func (renderer) RenderRule(v extend.Value, from model.ObjectRef) (r plan.Rendered, able bool) {
	made, able := v.Rendered(DataPlane.Name).(rendered)
	if able {
		r.Settings = []plan.Setting{newSetting(from, made.slot, "", made.value)}
	}
	return r, able
}

// RenderListener implements plan.Renderer.
func (renderer) RenderListener(extend.Value, model.ObjectRef) (r plan.Rendered, able bool) {
	return r, false
}

// RenderBackend implements plan.Renderer.
func (renderer) RenderBackend(extend.Value, model.BackendKey) (r plan.Rendered, able bool) {
	return r, false
}

// RenderError implements plan.Renderer.
func (renderer) RenderError(name string, status int, from model.ObjectRef) []plan.Setting {
	return []plan.Setting{newSetting(from, extend.SlotGuard, name, map[string]int{"status": status})}
}

func newSetting(from model.ObjectRef, slot extend.Slot, name string, value any) plan.Setting {
	return plan.Setting{
		From: from, Slot: string(slot), Name: name, Config: plan.TypedConfig{Type: "JSON", Value: encode(value)},
	}
}

// joinSettings merges those of several levels, from far to near: what a line says by slot and name.
func joinSettings(levels ...[]plan.Setting) map[string]json.RawMessage {
	joined := map[string]json.RawMessage{}
	for _, level := range levels {
		for _, s := range level {
			key := s.Slot
			if s.Name != "" {
				key += "/" + s.Name
			}
			if joined[key] = json.RawMessage(s.Config.Value); s.Off {
				delete(joined, key)
			}
		}
	}
	return joined
}

// encode makes JSON: of one value the same each time.
func encode(value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // the package's own types can be written
	}
	return b
}
