// Package envoy is how features are rendered for Envoy: what their functions are handed (Rule, Listener, Backend), and
// the parts of Envoy's configuration that several features have in common.
//
//	Renders: envoy.Render(envoy.Funcs[Value]{Rule: render})
//
// It owns the names of metadata by which filters tell each other what they found. It must never know a feature, nor how
// policies are attached. All functions are pure. Start reading at Render.
package envoy
