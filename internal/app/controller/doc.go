// Package controller is `cardea controller`: the gateways of a Kubernetes cluster.
//
// It owns how the parts are connected: the cluster's objects (kube) go through the pure part (world) to the proxies
// (xds, deploy), and back to the objects' status (status). It must never know what an object means: the pure part knows
// that. Start reading at Run.
package controller
