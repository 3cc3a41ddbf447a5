package apply

import (
	"os"
	"sync"
	"syscall"
)

// failpointVariable names a step at which the process ends as by kill -9 ("apply-read"), or stops as by SIGSTOP
// ("apply-read-stop"). It is for tests. Package store has steps of its own, by the same variable.
const failpointVariable = "CARDEA_LEDGER_FAILPOINT"

var failpoint = sync.OnceValue(func() string { return os.Getenv(failpointVariable) })

var failOnce sync.Once

// hitFailpoint is called at each step of a claim.
func hitFailpoint(step string) {
	signal := syscall.SIGKILL
	switch failpoint() {
	case "apply-" + step:
	case "apply-" + step + "-stop":
		signal = syscall.SIGSTOP
	default:
		return
	}
	failOnce.Do(func() { _ = syscall.Kill(os.Getpid(), signal) })
}
