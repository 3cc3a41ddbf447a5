// Package kubelet plays pods by processes: it binds them to its one node, gives each a network and its volumes, runs
// what stands for its images, probes it, and reports as a kubelet does.
//
// It owns the node, the life of pods and containers, volumes and their rotation, probes and hooks, logs, ports that are
// forwarded, and which program stands for an image. It must never know Services or load balancers, nor what the
// programs do. New, then Run, which starts a goroutine for each pod and each container; Kill may be called from any
// goroutine.
//
// Start reading at Kubelet.Run, pod.run and member.run.
package kubelet
