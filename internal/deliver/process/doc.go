// Package process starts a child process, watches it, starts it again when it ends, and stops it; and it finds a
// proxy's program on this machine.
//
// It owns the child's lifecycle: the backoff between starts, the child's output (logged line by line; the last lines
// are kept for messages), and an orderly stop. It makes sure that no child outlives Cardea, however Cardea ends. It
// must never know what the child does or how it is configured. Run blocks the calling goroutine until the child has
// ended; State may be called from any goroutine.
//
// Start reading at Process.Run.
package process
