// Package input is what Cardea reads: one flow source for every kind of object, typed by its API type.
//
// Edges (a folder, a cluster) fill the sources, internal/translate reads them; so neither has to know the other. The
// package owns the shape in which an object enters (Object: metadata, who edited it, spec), what is kept of each kind,
// and what a ReferenceGrant lets in. It must never know where objects come from, nor what they mean. Its methods may be
// called from any goroutine, since they only queue edits.
package input
