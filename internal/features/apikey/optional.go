package apikey

const (
	// lastHeader is where a key is looked for last. A client can't set it: the proxy sets it before.
	lastHeader = "x-cardea-no-key"
	// noKey is the key that stands there, and its client. No key of a Secret has a space.
	noKey = "no key"
	// clientKey is where the client of a key stands, beside the name of the user.
	clientKey = "client"
)
