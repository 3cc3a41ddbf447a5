// Package kubetest gives tests and benchmarks a real Kubernetes, the test cluster of docs/testcluster.md.
//
// It owns the way to bin/testcluster, which it builds from internal/test/cluster, a module of its own: Main and Enter
// run this program again in a sandbox that bin/testcluster makes, and Up starts the cluster there, in a process of its
// own. It must never know Cardea, nor how the cluster works. Cluster's methods may be called from any goroutine, those
// that stop or start its parts from one at a time.
//
// Start reading at Main and Start (for tests) or Enter and Up.
package kubetest
