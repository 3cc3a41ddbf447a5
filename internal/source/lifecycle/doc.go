// Package lifecycle holds the states of the objects that a source reads. Objects that belong together are written one
// by one, and each way in (files, watches of one kind each) has its own delay: so a new version may have to wait for
// what it begins to name, and an object that is gone may be about to come back.
//
//	state       published     becomes
//	Absent      nothing       Known by its first version, or Unanswered
//	Known       newest        Held if a version begins to name what is missing, Unanswered, or Fading if it is deleted
//	Held        one before    Known when that is there, Hold is over, or the version is taken back; Unanswered, Fading
//	Unanswered  one before    Known or Held when what it names was answered (Source.Unanswered); Fading
//	Fading      last          Absent when Hold is over; Known, Held, Unanswered if a version comes before
//
// It must never know files, an API server or a graph, and has no clock: the source says what arrives and when,
// publishes and removes what it is told to, and looks again when Next says so. Whether a deleted object fades is also
// for the source to say, since a permission that is taken back can't wait. One goroutine calls it. Start reading at
// Objects.
package lifecycle
