// Package kubeclient is how the program reaches a cluster: which one (LoadConfig), clients of one group
// (NewTypedClient), requests that are made once (NoRetryConfig), and watches that end after the cluster's store was
// restored to an older state (Guard).
//
// After its etcd was restored from a backup, an API server counts resource versions on from those of the backup. A
// client that asks for a watch from a later version gets status 200, and no event before the numbers have come that
// far: what was lost, and everything that happens meanwhile, is missed. (A list from such a version is an error, and
// clients know what to do about it.)
//
// A Guard stands in the transport of clients, whatever they watch by. Before a watch begins, it asks for the newest
// version of what is watched, by a list of one object from the API server's store. If that is older than where the
// watch is to begin, the Guard answers in place of the API server that the version has expired (410), and every client
// lists again. An API server has to be restarted for its store to be restored, so each watch begins again then; one
// that goes on, on an etcd with an older state, answers from its own memory and can't be told apart from outside.
//
// The package owns connections and that comparison; it must never know kinds, nor what objects mean. A Guard is of one
// API server and one identity, and may be used from any goroutine. Start reading at Guard.
package kubeclient
