// Package fielddoc describes the fields of objects as their schemas do: type, default, bounds, rules, and what the
// definition says in words.
//
// It owns the path of a field as users write it (FindField), and what is told of a field (Field). It must never know an
// object, nor where a schema comes from. It is pure.
//
// Start reading at FindField.
package fielddoc
