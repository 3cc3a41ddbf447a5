package sandbox

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on a thread of its own that ends afterwards, so f may move it to other namespaces.
func OnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The main thread can't end, and what asks for the process's namespaces sees its. While it is held here, the next
			// goroutine has another one.
			defer runtime.UnlockOSThread()
			done <- OnThread(f)
			return
		}
		done <- f() // and the thread is never unlocked
	}()
	return <-done
}
