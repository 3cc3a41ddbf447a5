package process

import "syscall"

// attributes makes the kernel kill the child when its parent ends in whatever way, and gives the child a process group
// of its own: Ctrl-C on a terminal then reaches Cardea, which stops its children in order, and not the children first.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
