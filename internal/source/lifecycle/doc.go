// Package lifecycle holds the states of the objects that a source reads. Objects that belong together are written one
// by one, and each way in (files, watches of one kind each) has its own delay: so a new version may have to wait for
// what it begins to name, and an object that is gone may be about to come back.
//
//	state       published     becomes
//	absent      nothing       known by its first version, or unanswered
//	known       newest        held if a version begins to name what is missing, unanswered, or fading if it is deleted
//	held        one before    known when that is there, Hold is over, or the version is taken back; unanswered, fading
//	unanswered  one before    known or held when what it names was answered (Source); fading
//	fading      last          absent when Hold is over; known, held, unanswered if a version comes before
//
// It must never know files, an API server or a graph, and has no clock: the source says what arrives and when,
// publishes and removes what it is told to, and looks again when Next says so. Whether a deleted object fades is also
// for the source to say, since a permission that is taken back can't wait. One goroutine calls it. Start reading at
// Objects.
package lifecycle
