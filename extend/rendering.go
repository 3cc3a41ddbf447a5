package extend

// Rendering renders a feature's values for one data plane. The data plane's package makes it of functions of its own
// types (extend/envoy.Render), and is the only one that knows what is in it.
type Rendering[V any] struct {
	DataPlane string // as features name it: "Envoy"
	// Value is how a value is rendered.
	Value func(v V) any
	// Off is how it is rendered for the connections of a listener that the feature is turned off, where the data plane
	// does something of its own as long as nothing is stated; nil: it does nothing.
	Off any
	// Agents is what each rule with a backend that speaks MCP needs where the feature, which is AtRule, is stated: for the
	// rule, or at a broader level, or for such a backend. It depends on no value. nil: nothing.
	Agents any
}

// renderAll is what renderings make, by data plane; nil: none makes anything.
func renderAll[V any](list []Rendering[V], made func(Rendering[V]) any) (all map[string]any) {
	for _, by := range list {
		if r := made(by); r != nil {
			if all == nil {
				all = map[string]any{}
			}
			all[by.DataPlane] = r
		}
	}
	return all
}
