// Package container runs a program as a container would: in network, mount, PID, IPC and host name namespaces of its
// own, with a root folder of its own, volumes at their paths, a user and few capabilities.
//
// It owns namespaces, mounts, addresses, routes and the process. It must never know Kubernetes objects: it is told what
// to run by a Spec of plain values. Main is called first thing in main; the rest from any goroutine.
//
// Start reading at Start and NewNetwork.
package container
