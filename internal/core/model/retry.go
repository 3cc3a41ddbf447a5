package model

import "time"

// Timeouts bound the time that an answer may take; 0 is no bound.
type Timeouts struct {
	Request time.Duration // all of it, from the end of the client's request to the end of the answer
	Backend time.Duration // each attempt at a backend
}

// Retry tries a request again that no backend has processed: because none could be reached, or it was rejected, or
// answered with one of Codes. Where Timeouts.Backend is set, an attempt that takes longer is one more reason.
type Retry struct {
	Codes    []uint32 // HTTP statuses
	Attempts uint32   // after the first one, at least 1
	Backoff  time.Duration
}
