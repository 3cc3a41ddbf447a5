// Package container runs a program as a container: in its own network, mount, PID, IPC and host name namespaces, with
// its own root folder, volumes at their paths, a user and few capabilities.
//
// It owns namespaces, mounts, addresses, routes and the process. It must never know Kubernetes objects: a Spec of plain
// values says what to run. Call Main first in main; the rest may be called from any goroutine.
//
// Start reading at Start and NewNetwork.
package container
