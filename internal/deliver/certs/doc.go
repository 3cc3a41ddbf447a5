// Package certs is a certificate authority: the one that Cardea's proxies trust, or the one of workloads' identities.
// Its keys are in a Secret, or in memory. It signs the certificate with which each replica serves xDS, or those of
// others, and it rotates before it expires, without the loss of a stream.
//
// It owns that Secret, the steps of a rotation, and the server's certificate in use. It must never know proxies, xDS,
// the owners of the certificates that it signs, or how others get the bundle of trusted certificates. Several replicas
// use one Secret: the first one writes a step, by optimistic concurrency, and the others read it. Run has the one
// goroutine that writes; the other methods may be called from any.
//
// These are the steps of a rotation. Each one lasts long enough for everyone to have the bundle of the step before:
//
//	steady      one authority, trusted and signing
//	introduced  a new one is trusted, too; the old one signs
//	switched    the new one signs; the old one is still trusted
//	steady      the old one is dropped
//
// Start reading at advance in steps.go, then Authority.Run.
package certs
