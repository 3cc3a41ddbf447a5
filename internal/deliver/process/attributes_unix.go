//go:build unix && !linux

package process

import "syscall"

// attributes gives the child its own process group, so that Ctrl-C in a terminal reaches Cardea only, which then stops
// its children in order. These systems can't kill a child when its parent ends: after a SIGKILL of Cardea the child
// must be killed by hand. In every other case Cardea stops its children.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
