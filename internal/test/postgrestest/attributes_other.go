//go:build !linux

package postgrestest

import "syscall"

// attributes has a program run as its owner.
func attributes(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Setpgid: true}
}
