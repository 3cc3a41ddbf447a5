// Package admin is the HTTP API that shows the state of a running Cardea: health, metrics, its objects with their
// status, findings, and what package flow knows of every collection.
//
// It owns paths, formats and access. It is read-only, and shows no private keys. It must never know how objects are
// stored or what a proxy is: Config provides that. Its handlers run in their own goroutines, many at once.
//
// Start reading at New, which has the table of paths.
package admin
