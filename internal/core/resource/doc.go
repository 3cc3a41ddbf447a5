// Package resource is what a dialect hands to the server that feeds proxies, and what comes back from the proxies.
//
// A Resource is a rope: parts in order, which share the bytes of fragments that were marshalled once. It tells what it
// needs (so that the server can order its messages) and which fragments it holds, by origin (so that an acknowledgement
// or a refusal finds the object that brought it). An Excerpt is what of them decides about some requests. The package
// owns these shapes and Feedback, the sources that hold what proxies said. It must never know how a resource's bytes
// are made, nor how they travel.
package resource
