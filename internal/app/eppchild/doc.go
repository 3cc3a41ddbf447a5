// Package eppchild runs `cardea picker` as a child process for each InferencePool that a route names where it serves
// and that names no picker itself.
//
//	plan.Pickers  -> one child for each pool
//	plan.Backends -> a file with the pool's endpoints, which the child follows
//	InferenceObjectives, InferenceModelRewrites of the folder -> the same file
//	the Secret that a pool names              -> a file with the token for metrics, which the child reads
//	input.Pickers <- where the child is asked, or why it does not run
//
// It owns these processes and their files. It must never know how a picker picks. The children listen on ports that the
// system chooses, and tell them in a file. Children.Run blocks its goroutine until all children have ended; the other
// methods may be called from any goroutine, but not in a View.
//
// Start reading at Children.Run.
package eppchild
