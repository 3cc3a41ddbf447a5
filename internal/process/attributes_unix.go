//go:build unix && !linux

package process

import "syscall"

// attributes gives the child a process group of its own: Ctrl-C on a terminal then reaches Cardea, which stops its
// children in order, and not the children first. These systems can't tie a child's life to its parent's: after a
// SIGKILL of Cardea the child must be ended by hand. Every other end of Cardea stops its children.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
