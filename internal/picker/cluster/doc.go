// Package cluster tells the members of an InferencePool of a Kubernetes cluster: its ready pods, each with all target
// ports of the pool, and the priorities of its InferenceObjectives.
//
// It owns what is watched, and reading those objects. It must never know requests, load or Envoy. The pool and its
// objectives are read as unstructured objects: their definitions may be of any release.
//
//	InferencePool, by its name -> selector -> pods, by their labels  \
//	InferenceObjectives of the namespace ----------------------------+-> members.Pool
//
// Source.Run starts the goroutines of client-go's informers; one of its own computes the pool. Start reading there.
package cluster
