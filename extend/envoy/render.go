package envoy

import "cardea.dev/cardea/extend"

// DataPlane is how features name Envoy (extend.Rendering.DataPlane).
const DataPlane = "Envoy"

// Funcs render a value, each at its kind of level. A nil one: Envoy can't do it there.
type Funcs[V any] struct {
	Rule     func(e Rule, v V)
	Listener func(e Listener, v V)
	Backend  func(e Backend, v V)
	// Agents and Off are as those of extend.Rendering; nil: there is nothing.
	Agents func(e Rule)
	Off    func(e Listener)
}

// Rendered is how a value is rendered; a nil function: Envoy can't do it there.
type Rendered struct {
	Rule     func(Rule)
	Listener func(Listener)
	Backend  func(Backend)
}

// Render renders a feature for Envoy.
func Render[V any](f Funcs[V]) []extend.Rendering[V] {
	r := extend.Rendering[V]{DataPlane: DataPlane, Value: func(v V) any {
		return Rendered{Rule: of(f.Rule, v), Listener: of(f.Listener, v), Backend: of(f.Backend, v)}
	}}
	if f.Agents != nil {
		r.Agents = Rendered{Rule: f.Agents}
	}
	if f.Off != nil {
		r.Off = Rendered{Listener: f.Off}
	}
	return []extend.Rendering[V]{r}
}

// Of is how a value is rendered; the zero Rendered if the feature has nothing for Envoy.
func Of(v extend.Value) Rendered {
	r, _ := v.Rendered(DataPlane).(Rendered)
	return r
}

func of[E, V any](by func(E, V), v V) func(E) {
	if by == nil {
		return nil
	}
	return func(e E) { by(e, v) }
}
