package process

import "syscall"

// attributes makes the kernel kill the child when its parent ends, however it ends. The child gets its own process
// group, so that Ctrl-C in a terminal reaches Cardea only, which then stops its children in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
