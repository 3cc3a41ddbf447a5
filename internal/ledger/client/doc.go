// Package client asks a ledger over HTTP. A Client is a ledger.Ledger, as a store is, and can do what only a server
// can: undo, roll back, preview and wait.
//
// It owns requests to /ledger/v1, the way from problems back to errors, and watching that goes on after a lost
// connection. It must never know databases, or how a server decides.
//
// Its methods are called by many goroutines. The server takes the author of what it writes from the token. Start
// reading at New, then call (call.go).
package client
