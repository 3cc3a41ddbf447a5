// Package merge joins what several policies state of one feature, by the feature's schema, as Kubernetes' server-side
// apply joins what several managers state of an object: x-kubernetes-map-type, -list-type and -list-map-keys say what
// is one field, and what becomes of a list.
//
//	object                  field by field             a.b
//	object, atomic          one field                  a
//	list, atomic            one field                  a
//	list, set               element by element         a[503]
//	list, map               element by element, by key a[corp].b
//	map of any keys         entry by entry             a[key]
//
// Nothing is removed by a merge. Lists that merge have no order that matters: results are sorted.
//
// The package owns merging and the paths of fields. It must never know a feature, nor which of two values is the
// narrower one. Everything is pure and may be called from any goroutine; values are shared, and nobody may change them.
// Start reading at Type.
package merge
