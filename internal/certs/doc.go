// Package certs is the authority that Cardea's proxies trust: its keys stand in a Secret, it signs the certificate that
// each replica serves xDS with, and it replaces itself before it expires without a stream lost.
//
// It owns that Secret, the steps of a rotation, and the certificate in use. It must never know proxies, xDS or how a
// bundle gets to where it is read. Several replicas run it on one Secret: whoever comes first writes a step, by
// optimistic concurrency, and the others read it. Run holds the one goroutine that writes; the other methods may be
// called from any.
//
// A rotation, of which every step lasts long enough for the bundle of the step before to be everywhere:
//
//	steady      one authority, trusted and signing
//	introduced  a new one is trusted, too; the old one signs
//	switched    the new one signs; the old one is trusted still
//	steady      the old one is dropped
//
// Start reading at advance in steps.go, then Authority.Run.
package certs
