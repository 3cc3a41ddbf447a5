package xds

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel end a child whose test was killed.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
