// Package process starts a child process, watches it, restarts it when it ends, and stops it. It also finds the Envoy
// to run.
//
// It owns the child's lifecycle: the backoff between starts, the child's output (logged line by line; the last lines
// are kept for messages), and an orderly stop. It makes sure that no child outlives Cardea, however Cardea ends. It
// must never know what the child does or how it is configured. Run blocks the calling goroutine until the child has
// ended; State may be called from any goroutine.
//
// Start reading at Process.Run.
package process
