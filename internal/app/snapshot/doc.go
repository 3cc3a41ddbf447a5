// Package snapshot answers questions about a cluster while no part of it runs here: it reads the cluster's objects
// once, with a user's own kubeconfig, and evaluates them as the controller does.
//
//	API server ──list──> kube ──> world ──> explain: where a request goes
//	                                  └───> diff: what a folder's objects would change; check: what is wrong with them
//
// It owns which parts are joined for that, and the messages about objects that the user may not read. No proxy is
// asked, and nothing is written. It must never know how commands are called, nor what an object means. Its methods are
// called by one goroutine. Start reading at Open.
package snapshot
