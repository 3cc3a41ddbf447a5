package postgrestest

import "syscall"

// attributes has a program run as its owner, and end when the tests end, however they do.
func attributes(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
