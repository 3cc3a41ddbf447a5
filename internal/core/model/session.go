package model

import "time"

// Session keeps a client at the endpoint that answered it first, as long as that endpoint is there.
type Session struct {
	Header string // that tells the endpoint; "": a cookie does
	Cookie string
	Path   string // of the cookie
	// Lifetime of the cookie and the session; 0: the cookie goes when the browser's session ends.
	Lifetime time.Duration
}
