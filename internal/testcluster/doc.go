// Package testcluster is a real Kubernetes for tests, without containers: etcd, kube-apiserver and
// kube-controller-manager as they are, and pods played by processes with network namespaces, volumes, probes and logs
// of their own.
//
// It owns the life of such a cluster: the programs of the control plane, its certificates, its addresses, and the
// faults that a test wants (an API server that is away, an etcd that restarts, a container that dies). It must never
// know Cardea: which image stands for which program is the caller's to say. Everything lives in namespaces of its own
// and ends with the test; docs/testcluster.md tells what is real and what is played.
//
// Start reading at Main and Start (for tests) or Up.
package testcluster
