// Command generate writes crds.json: the schemas of the Gateway API's custom resources that Cardea reads, without their
// descriptions and status, as package schema embeds them. `go generate` runs it; its test holds the file against the
// module.
//
// It owns the choice of kinds and what is left out. It must never change a schema's meaning. Start reading at build.
package main
