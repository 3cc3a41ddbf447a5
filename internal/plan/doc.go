// Package plan is what the meaning tower hands to the dialects: the collections of model values.
//
// It owns the list of collections and their keys. It must never know how they are computed (package gateway does that) nor
// how a proxy is configured (a dialect does).
package plan
