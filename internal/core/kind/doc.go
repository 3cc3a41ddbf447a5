// Package kind has the declaration of a kind of object: everything that the edges, the commands and the docs have to
// know of it, in one value.
//
// It owns the form of a declaration (Kind), the list of all that a program was built with (Catalog), and the sources of
// objects, which are made by kind. It must never know a particular kind: Cardea's own are declared in package kinds,
// others where they are built. Values never change once they were declared, so any goroutine may read them.
//
// Start reading at Kind; CustomContent and BuiltInContent make its Content.
package kind
