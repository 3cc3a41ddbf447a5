// Package kubelet simulates pods by processes: it binds them to its one node, gives each a network and its volumes,
// runs the programs of their images, probes them, and reports their status as a kubelet does.
//
// It owns the node, the lifecycle of pods and containers, volumes and their updates, probes and hooks, logs, port
// forwarding, and which program is used for an image. It must never know Services or load balancers, or what the
// programs do. Call New, then Run, which starts a goroutine for each pod and each container; Kill may be called from
// any goroutine.
//
// Start reading at Kubelet.Run, pod.run and member.run.
package kubelet
