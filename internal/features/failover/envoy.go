package failover

import (
	"cardea.dev/cardea/extend/envoy"
)

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Backend: func(envoy.Backend, Value) {}})
