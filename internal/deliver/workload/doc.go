// Package workload serves SPIFFE's Workload API on Unix sockets, one for each configured identity: a program that can
// open a socket gets certificates of its identity. It is for programs on the machine of a folder.
//
// It owns the sockets, the certificates that it gives, and a file with the ClusterTrustBundle that Gateways of the
// folder name. It must never know Gateways or policies, nor where the authority's key is or how it rotates.
//
// Run starts all goroutines: one for each socket, one for the file. Start reading at Server.Run, then svid.go.
package workload
