// Package process starts a child process, watches it, starts it again when it ends, and stops it; and it finds a
// proxy's program on this machine.
//
// It owns the child's life: backoff between starts, the child's output (as log lines, and the last of them kept for
// messages), a gentle stop, and that no child outlives Cardea, however Cardea ends. It must never know what the child
// does nor how it is configured. Run holds the calling goroutine for the whole life; State may be called from any
// goroutine.
//
// Start reading at Process.Run.
package process
