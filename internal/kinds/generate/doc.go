// Command generate writes crds.json: the definitions of the custom resources that Cardea reads by itself, without their
// descriptions and status, as package kinds embeds them. `go generate` runs it; its test holds the file against the
// modules.
//
// It owns the choice of definitions. It must never change a schema's meaning. Start reading at build.
package main
