// Package identity gives the pods of a cluster certificates that name their service accounts by a SPIFFE SPIFFEID
// (spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/NAME), and publishes who signs them.
//
// It owns the answers to the PodCertificateRequests of one signer name, and one ClusterTrustBundle. It must never know
// proxies, Gateways or policies, nor where the authority's key is or how it rotates. An API server may be without the
// two kinds: then nothing is done, and it is asked again from time to time.
//
// Run starts all goroutines: one follows the requests, some answer them, one keeps the bundle. Several replicas may
// run: an answer is given once, by optimistic concurrency, and the bundle is the same from each.
//
// Start reading at judge in judge.go, which is pure, and then Signer.Run.
package identity
