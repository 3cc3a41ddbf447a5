package notyet

import "cardea.dev/cardea/extend/envoy"

// renders renders nothing: Read has said why.
var renders = envoy.Render(envoy.Funcs[struct{}]{
	Rule: func(envoy.Rule, struct{}) {}, Backend: func(envoy.Backend, struct{}) {},
	Listener: func(envoy.Listener, struct{}) {},
})
