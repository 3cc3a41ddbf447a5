package store

import (
	"os"
	"sync"
	"syscall"
)

// failpointVariable names a point at which the process ends itself as by kill -9. It is for tests: they start a process
// with it, and look at what is in the database afterwards.
const failpointVariable = "CARDEA_LEDGER_FAILPOINT"

var failAt = sync.OnceValue(func() string { return os.Getenv(failpointVariable) })

// hitFailpoint ends the process if a test wants that here.
func hitFailpoint(name string) {
	if failAt() == name {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal arrives
	}
}
