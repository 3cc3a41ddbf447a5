// Package rest serves a ledger over HTTP: /ledger/v1, described by /ledger/v1/openapi.json, which is made from the
// handlers.
//
//	request -> guard: who is it?  -> confine: a cluster's worker sees its cluster only
//	        -> huma: reads it by its schema -> handler: may the caller? -> Ledger -> answer or problem
//
// It owns what HTTP adds to a ledger: authentication and permissions, preconditions, cursors, the redaction of Secrets,
// the mapping of errors, and resumable watching. It must never know SQL, Kubernetes clients, proxies, or what objects
// mean: schemas, previews and the closures of Gateways are handed in.
//
// Handlers are called by the goroutines of an http.Server; nothing is shared between requests but what Config holds.
// Start reading at New, then handle (api.go), then the endpoints, one file each.
package rest
