// Package objectives says how important a request is, by its headers.
//
// It owns the headers, the table of InferenceObjectives (group inference.networking.x-k8s.io, spec.priority) and the
// rule that says which headers to trust. It must never know where the table comes from, nor what a priority is good
// for. It is pure. Start reading at Config.PriorityOf.
package objectives
