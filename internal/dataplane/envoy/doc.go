// Package envoy is the dialect of Envoy: it renders the plan to xDS resources, and the bootstrap that an Envoy starts
// with, and declares itself to the rest of the program (Dialect).
//
// It owns virtual hosts, route tables, filter chains and clusters, their names, and every setting of Envoy. It must
// never know Kubernetes types, how the plan was computed, or how resources travel. Every rule, backend, secret and
// listener is marshalled once; a resource is a rope of those bytes, so an edit costs the bytes that it changed. The
// package is a pure flow stage: its functions run in the graph's turns, on any goroutine, and keep nothing.
//
// Names: a cluster is "service/NAMESPACE/NAME/PORT" or "xbackend/NAMESPACE/NAME", with "/h2" behind it where the sender
// wants HTTP/2, a secret "secret/NAMESPACE/NAME", a listener its port ("80"), a route table its port, for HTTPS the
// listener's section too, and a shard: "80/0", "443/shop/0". The shard is always 0; it is there so that a table can be
// cut without renaming it. No name is read back: parts carry the keys that they were made of. To find the key of a
// name, the names of those keys are made once more (simulation.go).
//
// Start reading at Dialect for what it is to others, at New for the stages, at renderRule for what becomes of a rule.
package envoy
