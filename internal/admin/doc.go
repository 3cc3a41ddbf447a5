// Package admin is the HTTP API on which a running Cardea tells about itself: health, metrics, its objects with their
// status, findings, and what package flow knows of every collection.
//
// It owns paths, formats and who may ask; it only reads, and it shows no private keys. It must never know how objects
// are stored or what a proxy is: that comes in by Config. Its handlers run in their own goroutines, many at once.
//
// Start reading at New, which has the table of paths.
package admin
