package model

import "reflect"

// CORS answers preflight requests, and tells browsers which other origins' scripts may read the answers. In each list a
// "*" stands alone and means all.
type CORS struct {
	// "scheme://host" or "scheme://host:port"; a "*" in the host is any number of labels or parts of one
	Origins     []string
	Methods     []string
	Headers     []string // of requests
	Expose      []string // headers of answers
	Credentials bool
	MaxAge      int32 // seconds that a browser may keep the answer
}

// Equal tells whether both state the same; nil states nothing.
func (c *CORS) Equal(o *CORS) bool { return reflect.DeepEqual(c, o) }
