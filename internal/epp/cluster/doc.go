// Package cluster tells the members of an InferencePool of a Kubernetes cluster: its ready pods, each with all target
// ports of the pool, the priorities of its InferenceObjectives, and its InferenceModelRewrites.
//
// It owns what is watched, and reading those objects. It must never know requests, load or Envoy. All but pods
// are read as unstructured objects: their definitions may be of any release.
//
//	InferencePool, by its name -> selector -> pods, by their labels  \
//	InferenceObjectives, InferenceModelRewrites of the namespace ----+-> members.Pool
//
// Source.Run starts the goroutines of client-go's informers; one of its own computes the pool. Start reading there.
package cluster
