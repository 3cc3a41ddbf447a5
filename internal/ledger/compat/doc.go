// Package compat answers the routes of Kontrol (/api/v1/resources, /health) from a ledger, for clients that were
// written for it.
//
// A resource is an object of the ledger; its cluster_id is a target; its id is the object's ID, which survives deletion
// and creation under the same name. Generation and revision mean what Kontrol says: going back to revision 1 after two
// edits gives generation 3, revision 1. Features that Kontrol's clients do not know stay out of their way: there are no
// preconditions, and the last writer wins.
//
// It owns the shapes of those routes. It must never know databases, clusters, or what objects mean. Handlers are called
// by the goroutines of an http.Server. Start reading at New.
package compat
