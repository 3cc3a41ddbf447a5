package model

import "time"

// FetchKey names a document that is fetched.
type FetchKey struct {
	URL string // http or https
	// Through is the backend that is asked for it, in the name of the URL's host; zero: the URL's host is asked.
	Through BackendKey
	// RequiredMember must be in the document, which is a JSON object then, and not be empty; "": any document will do.
	RequiredMember string
}

// Owner is the backend.
func (k FetchKey) Owner() ObjectRef { return k.Through.Object }

// FetchSpec says how a document is fetched.
type FetchSpec struct {
	Refresh    time.Duration // after which it is asked for again
	Backend    *Backend      // what FetchKey.Through is; nil: it names none
	Namespaces []string      // of the objects that name it, sorted
}

// FetchState is what is known of a document.
type FetchState struct {
	Known   bool   // it was fetched once; Content is what it was last
	Content string // of a length that is bounded by who fetches
	// Missing: its server says that there is none, and there was none before.
	Missing bool
	// Failure is why it could not be fetched the last time, in words for those who name it; "": it could.
	Failure string
}
