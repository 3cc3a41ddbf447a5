package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/vishvananda/netlink"
)

// initialize is the life of process 1: it makes the place, starts the program inside, and reaps whatever ends until
// that one does. The kernel then ends all that is left.
func initialize() int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	if err := furnish(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return 1
	}
	cmd := program("inside", nil)
	cmd.ExtraFiles = []*os.File{os.NewFile(outsideNetwork, "outside")}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return 1
	}
	pid := cmd.Process.Pid
	go func() {
		for s := range signals {
			_ = syscall.Kill(pid, s.(syscall.Signal)) // process 1 reaps it below, and ends at once: pid is nobody else's
		}
	}()
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "sandbox: wait:", err)
			return 1
		case ended == pid:
			return exitCode(status)
		}
	}
}

// furnish makes the namespaces fit to live in: mounts that stay private, a /proc that shows the processes of this PID
// namespace, an empty /run in memory, and a loopback interface.
func furnish() error {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC, ""},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=755"},
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	loopback, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(loopback)
	}
	if err != nil {
		return fmt.Errorf("loopback interface: %w", err)
	}
	return nil
}
