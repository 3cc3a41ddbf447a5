// Package explain tells why: what a running configuration does with one request and which objects made it so, and what
// became of one object.
//
// It joins what the parts of the program know, without being asked for it before: the simulation of what was rendered
// (its dialect's), the rules and their precedence (the plan), what proxies said (feedback), and when which turn changed
// what (package flow). It owns the stories, as values and as text. It must never know who asks, nor how objects came in
// or configuration goes out. An Explainer may be asked from any goroutine, and only reads; Run, one goroutine,
// remembers the last edits. Turns wait while a View is open, so what takes long is done between two of them (steps).
// Start reading at request.go.
package explain
