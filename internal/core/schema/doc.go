// Package schema does to an object from a file what an API server would do on admission: it fills in defaults, refuses
// fields that do not exist, and validates, CEL rules over the old object included. The Gateway API's kinds are checked
// by the schemas of their CustomResourceDefinitions, those that are built into Kubernetes by their Go types and the
// rules of their declarations (package kind).
//
// An Object can be stored as bytes, and loaded without its schema (store.go); what is equal in many objects is then
// there once (Pool).
//
// It owns how schemas are applied and the words in which a mistake is told. It must never know where an object was read
// from: a Problem names a field, whoever read the object finds the line. A Schema may be used by many goroutines at
// once; each kind is compiled when it is first needed.
//
// Start reading at Schema.Check.
package schema
