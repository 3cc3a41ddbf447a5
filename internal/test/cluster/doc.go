// Package cluster is a real Kubernetes for tests, without containers: the real etcd, kube-apiserver and
// kube-controller-manager, and pods simulated by processes with their own network namespaces, volumes, probes and logs.
//
// It owns the lifecycle of such a cluster: the programs of the control plane, its certificates, its addresses, and the
// faults that a test needs (an API server that does not answer, an etcd that restarts, a container that is killed). It
// must never know Cardea: the caller says which program is used for which image. Everything runs in its own namespaces
// and ends with the test. docs/testcluster.md describes what is real and what is simulated.
//
// Start reading at Main and Start (for tests) or Up.
package cluster
