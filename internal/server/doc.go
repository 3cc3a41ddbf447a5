// Package server is `cardea controller`: the gateways of a Kubernetes cluster.
//
// It owns the order in which the parts are joined: the cluster's objects (kube) go through the pure part (world) to the
// proxies (xds, deploy) and back to the objects' status (status). It must never know what an object means: that is the
// pure part's. Start reading at Run.
package server
