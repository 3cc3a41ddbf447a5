// Command schemagen writes the schema of a feature of policies (extend.Declaration.Schema): the OpenAPI schema of a
// struct type, with kubebuilder's markers. In the package of the feature:
//
//	//go:generate go run cardea.dev/cardea/extend/schemagen@VERSION
//
// It reads the type Spec of the package in the working folder and writes schema.json beside it. Arguments are folders
// of other packages; -type and -out name another type and file; with -check, nothing is written, and a file that is not
// current is an error. Cardea's own features have
//
//	//go:generate go run -C ../../../extend/schemagen . $PWD
//
// How values of several policies merge is said by markers: +listType=set, +listType=map with +listMapKey, and
// +structType=atomic for what has a meaning only as a whole. References and fractions of the Gateway API are such.
//
// A schema has no defaults, since a default would count as stated and replace what a broader policy states. Those of
// the Gateway API's types are taken out, and their CEL rules read a field that is not stated as its default; any other
// is an error.
//
// The command is a module of its own so that what uses extend needs none of its libraries. Start reading at generate.
package main
