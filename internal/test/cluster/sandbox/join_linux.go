package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Announce makes this process findable from outside by name until ctx ends. It is called inside. An error may say that
// the name is taken.
func Announce(ctx context.Context, name string) error {
	// The address is abstract: it is nowhere in the file system, so nothing of it can be left.
	listener, err := Listen(ctx, "unix", "@"+name)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close() // that there is a listener said it all: see Find
		}
	}()
	return nil
}

// Find is the id of the process that has announced name. It is called outside.
func Find(name string) (pid int, err error) {
	conn, err := net.Dial("unix", "@"+name)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	if e := raw.Control(func(fd uintptr) {
		peer,
			err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); e != nil {
		return 0, e
	}
	if err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}

// Join runs cmd in the namespaces of the process pid, and returns what cmd.Run does. The program is looked up outside;
// both sides see the same files. It is called outside.
func Join(pid int, cmd *exec.Cmd) error {
	if cmd.Dir == "" {
		// Entering a mount namespace moves to its root.
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		cmd.Dir = dir
	}
	return OnThread(func() error {
		// A thread that shares its idea of the root folder with others can't enter a mount namespace.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		for _, kind := range []string{"net", "ipc", "pid", "mnt"} {
			ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), 0); err != nil {
				return fmt.Errorf("enter the %s namespace: %w", kind, err)
			}
		}
		return cmd.Run()
	})
}
