package testcluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// daemon is a program of the control plane.
type daemon struct {
	argv     []string
	env      []string
	log      string        // the file that gets its output
	patience time.Duration // between the request to stop and the kill

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// start starts the program. It may have run and ended before.
func (d *daemon) start() error {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), d.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(done)
	}()
	d.cmd, d.done = cmd, done
	return nil
}

// stop ends the program, gently at first, and waits until it has.
func (d *daemon) stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-d.done:
	case <-time.After(d.patience):
		_ = d.cmd.Process.Kill()
		<-d.done
	}
}

// lastWords are the end of its log, for errors.
func (d *daemon) lastWords() string {
	const enough = 4 << 10
	log, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s\n%s", d.argv[0], bytes.TrimSpace(log[max(0, len(log)-enough):]))
}
