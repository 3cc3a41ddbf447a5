// Command generate writes what package kinds embeds of the custom resources that Cardea reads by itself: crds.json has
// their definitions, without descriptions and status, and descriptions.json the descriptions.
// `go generate` runs it; its test holds the files against the modules.
//
// It owns the choice of definitions. It must never change a schema's meaning. Start reading at build.
package main
