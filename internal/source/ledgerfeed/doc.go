// Package ledgerfeed makes the objects of one target of a ledger the sources of the graph.
//
//	Ledger --Head, Objects--> snapshot at N --+
//	       --Watch----------> N+1, N+2, ... --+--> package schema --> package input, one batch for each change
//
// It owns how changes become edits of the graph: all of a change or nothing, in the order of numbers, each once.
// Objects of one change need not wait for each other, as they do where they are written one by one (package lifecycle).
//
// An object that this program's schemas do not take, since another version took it, is a Problem: what served before
// goes on; without one, what the object protects is closed (input.ClosedTargets). While the ledger can't be read,
// everything stays as it is. If its history is another one than what was read (a backup was restored), nothing is taken
// until the ledger has another epoch, which tells that somebody decided so.
//
// A reader that is behind by several changes reads what they edited at once.
//
// It must never know databases, HTTP or what objects mean. Run is the one goroutine that reads; Problems, Loaded and
// Change may be called from any. Start reading at Feed.Run.
package ledgerfeed
