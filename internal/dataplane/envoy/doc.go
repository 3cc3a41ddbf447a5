// Package envoy is the dialect of Envoy: it renders the plan to xDS resources, and the bootstrap that an Envoy starts
// with, and declares itself to the rest of the program (Dialect).
//
// It owns virtual hosts, route tables, filter chains and clusters, their names, and every setting of Envoy. It must
// never know Kubernetes types, how the plan was computed, or how resources travel. Every rule, backend, secret and
// listener is marshalled once; a resource is a rope of those bytes, so an edit costs the bytes that it changed. The
// package is a pure flow stage: its functions run in the graph's turns, on any goroutine, and keep nothing.
//
// Package route renders what a rule does, package naming has the names of resources, package bootstrap starts an Envoy.
//
// Start reading at Dialect for what it is to others, at New for the stages, at renderRule for what becomes of a rule.
package envoy
