package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// daemon is a program of the control plane.
type daemon struct {
	argv []string
	env  []string
	log  string // the file that gets its output

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

// kill ends the program at once, if it runs: nothing here has anything to lose.
func (d *daemon) kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill() // it may have ended
		<-d.done
	}
}

// lastOutput is the end of its log, for errors.
func (d *daemon) lastOutput() string {
	const enough = 4 << 10
	log, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s\n%s", d.argv[0], bytes.TrimSpace(log[max(0, len(log)-enough):]))
}
