package cors

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

func renderRule(e envoy.Rule, c extend.CORS) {
	e.Set(extend.SlotCORS, envoy.CORSPolicy(c))
	e.Filter(extend.SlotObserve, envoy.CORSVaryFilter, envoy.CORSVary())
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[extend.CORS]{Rule: renderRule})
