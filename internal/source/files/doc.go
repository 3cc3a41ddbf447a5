// Package files makes a folder of YAML and JSON files, or one such file, a source of objects.
//
// It owns reading: which files count, where one document ends and the next begins, which documents changed, which
// version of a broken one keeps serving, which of two files wins, and at which line something stands. It must never
// know what the objects mean: package schema says whether one is valid, package input holds it.
//
//	walk.go -> split.go -> decode.go -> package schema -> merge.go -> package input
//	(paths)    (texts)     (maps)       (objects)         (who wins)
//
// A document is known by the hash of its text: one that did not change is neither parsed nor checked again, so one edit
// in a file of 10,000 documents costs one document's work. Which objects the texts are is remembered from run to run
// (package validcache), so a start costs hardly more than reading.
//
// Nothing that is live goes because a read failed, nor because the folder was taken away and made anew (refill.go), nor
// because a file was emptied before it is written (emptied.go). An object goes only after its text stayed away for
// Hold: an editor that replaces a file, or a document that moves from one file to another, leaves no gap. In the same
// way a new version that begins to name what is not there waits for that, for Hold at most, while the live version
// serves: a route and its Service may be written in either order. Package lifecycle decides both (versions.go tells it
// what objects name). While a file is being written, all of them wait for that, too. A Gateway waits without an end for
// a class that does not exist (owner.go). Only a ReferenceGrant goes at once, since it is a permission taken back,
// unless something may hide it: then it waits for WithdrawTimeout at most (grants.go).
//
// Run is the one goroutine that reads (Load in its stead, for one-shot commands); it splits the checking of many
// documents over all cores. Problems, Where and Stats may be called from any goroutine.
//
// Start reading at Folder.refresh.
package files
