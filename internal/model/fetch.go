package model

import (
	"net/netip"
	"time"
)

// FetchKey names a document that is fetched.
type FetchKey struct {
	URL string // http or https
	// Through is the backend that is asked for it, in the name of the URL's host; zero: the URL's host is asked.
	Through BackendKey
	// Member must be in the document, which is a JSON object then, and not be empty; "": any document will do.
	Member string
}

// Owner is the backend.
func (k FetchKey) Owner() ObjectRef { return k.Through.Object }

// Fetch says how a document is fetched.
type Fetch struct {
	Refresh time.Duration // after which it is asked for again
	Backend *Backend      // what FetchKey.Through is; nil: it names none
}

// Fetched is what is known of a document.
type Fetched struct {
	Known   bool   // it was fetched once; Content is what it was last
	Content string // of a length that is bounded by who fetches
	// Missing: its server says that there is none, and there was none before.
	Missing bool
	Failing string // why it could not be fetched the last time; "" if it could
}

// amazonMetadata is where machines of Amazon find their credentials over IPv6.
var amazonMetadata = netip.MustParseAddr("fd00:ec2::254")

// IsMetadata tells whether an address is of the kind at which machines find their own credentials. Nothing that users
// state is fetched from there.
func IsMetadata(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsLinkLocalUnicast() || a == amazonMetadata
}
