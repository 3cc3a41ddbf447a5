// Package kube makes a cluster's objects the sources of the graph.
//
// It owns the watches: one a kind, and one for each Secret that something kept refers to, and may. It keeps of each
// object only what Cardea reads (model.Meta and the spec), in the graph and nowhere else; beside it stands an index of
// what objects name. It must never know what objects mean, and it writes nothing: that is what other edges are for.
//
//	API server ──watch──> reflector ──trim──> mailbox ──> intake ──one Apply──> graph
//	             (a feed for each kind,         │          │
//	              a point for each Secret)      └──────────┴── what must wait: see package lifecycle
//
// Everything is decided by one goroutine, that of Watcher.Run, at the intake: what arrived together goes into the graph
// together, what begins to name something that is not there waits, and objects of other controllers are left out. The
// reflectors (client-go) list, watch, and begin again; they lose nothing that the API server has not said is gone.
//
// Start reading at Watcher, then intake.
package kube
