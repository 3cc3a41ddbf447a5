// Package wire is how a ledger travels over HTTP: the bodies of /ledger/v1, and which status each error has.
//
// It owns the shapes that package rest writes and package client reads, where the words of package ledger do not
// travel as they are. It must never know databases, handlers or connections. Everything in it is a value or a pure
// function. Start reading at Draft.
package wire
