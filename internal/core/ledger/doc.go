// Package ledger is what a ledger of desired state is: a numbered list of changes, each one person's edit of any number
// of objects.
//
// It owns the words, the rules and the interface:
//
//	Draft --Resolve--> ResolvedDraft: numbers, generations, revisions, refusals (pure: commit.go)
//	Reader --Undo, Rollback--> Draft (pure: back.go)
//
// A change has a number: gapless, in the order of commits. An object has a generation, which grows by one with each
// change of it, also when it is deleted and made again; and a revision: the generation that first had its content. So
// an object that goes back to revision 1 in generation 3 has generation 3 and revision 1, and no number means two
// contents.
//
// Work in a cluster is state, not a queue: an object is due in a cluster until its newest generation was applied there
// (work.go).
//
// It must never know SQL, HTTP, Kubernetes clients, or what objects mean. Everything in it is a value or a pure
// function. Package store keeps a ledger in a database, package client asks one over HTTP; both pass the tests of
// package ledgertest. Start reading at Ledger.
package ledger
