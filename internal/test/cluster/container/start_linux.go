package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"cardea.dev/cardea/internal/test/cluster/sandbox"
)

// Process is a program that runs in a container: process 1 of its PID namespace. When it ends, the kernel ends all that
// it has started.
type Process struct {
	cmd  *exec.Cmd
	spec Spec
	done chan struct{}
	exit Exit
}

// Start runs a program in network. Its output is written to the two writers, each from one goroutine, as it comes. The
// error wraps ErrStart if the spec is the reason.
func Start(network *Network, spec Spec, stdout, stderr io.Writer) (*Process, error) {
	p := &Process{spec: spec, done: make(chan struct{})}
	err := sandbox.OnThread(func() error {
		if err := netns.Set(network.space); err != nil {
			return err
		}
		cmd, err := begin("start", spec, stdout, stderr, &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
			Setsid:     true,
		})
		p.cmd = cmd
		return err
	})
	if err != nil {
		return nil, err
	}
	go p.wait()
	return p, nil
}

// Exec runs another program in a container, as the same user, and waits for it.
func (p *Process) Exec(argv []string, stdout, stderr io.Writer) (Exit, error) {
	spec := p.spec
	spec.Argv = argv
	other := &Process{done: make(chan struct{})}
	err := sandbox.OnThread(func() error {
		spaces := map[string]*os.File{}
		for _, kind := range []string{"net", "pid", "mnt"} {
			space, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", p.cmd.Process.Pid, kind))
			if err != nil {
				return err
			}
			defer space.Close()
			spaces[kind] = space
		}
		for _, kind := range []string{"net", "pid"} {
			if err := unix.Setns(int(spaces[kind].Fd()), 0); err != nil {
				return err
			}
		}
		cmd, err := begin("exec", spec, stdout, stderr, &syscall.SysProcAttr{Setsid: true}, spaces["mnt"])
		other.cmd = cmd
		return err
	})
	if err != nil {
		return Exit{}, err
	}
	other.wait()
	return other.exit, nil
}

// begin starts this program in the given role, sends it the spec, and returns when it has become the program of the
// spec.
func begin(
	role string, spec Spec, stdout, stderr io.Writer, attributes *syscall.SysProcAttr, files ...*os.File,
) (*exec.Cmd, error) {
	specOut, specIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer specOut.Close()
	defer specIn.Close()
	troubleOut, troubleIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer troubleOut.Close()
	defer troubleIn.Close()

	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = "container"
	cmd.Env = []string{roleVariable + "=" + role}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.ExtraFiles = append([]*os.File{specOut, troubleIn}, files...)
	cmd.SysProcAttr = attributes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	specOut.Close() // now only the child has the other ends, so they are closed when it ends
	troubleIn.Close()
	err = json.NewEncoder(specIn).Encode(spec)
	specIn.Close()
	trouble, readErr := io.ReadAll(troubleOut) // ends with the exec, or with the child
	switch {
	case len(trouble) > 0:
		err = fmt.Errorf("%w: %s", ErrStart, trouble)
	case err == nil:
		err = readErr
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // err says why
		return nil, err
	}
	return cmd, nil
}

func (p *Process) wait() {
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status := exit.Sys().(syscall.WaitStatus)
		p.exit.Code = status.ExitStatus()
		if status.Signaled() {
			p.exit = Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
		}
	}
	close(p.done)
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how it ended, after Done.
func (p *Process) Exit() Exit { return p.exit }

// Terminate asks the program to end.
func (p *Process) Terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) } // it may have ended

// Kill ends the program and all that it has started.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // it may have ended
