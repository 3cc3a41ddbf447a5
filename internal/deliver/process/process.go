package process

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Config is what a Process needs. Only Name and Command must be set.
type Config struct {
	Name string // for messages, e.g. "envoy shop/web"
	// Command makes the command of the next start (by exec.Command, not started). It may prepare the files that the child
	// reads; an error counts as a failed start. Process sets Stdout, Stderr and SysProcAttr.
	Command func() (*exec.Cmd, error)
	// Level chooses the level at which a line of the child's output is logged; nil is slog.LevelInfo for all.
	Level func(line string) slog.Level
	// Grace is how long the child may take to end after SIGTERM, before SIGKILL; 0 means 10 s.
	Grace   time.Duration
	Backoff Backoff
	Log     *slog.Logger // nil discards
	// OnChange, if set, is called by Run's goroutine after each start and each exit. It must not block.
	OnChange func(State)
}

// State is the state of the child.
type State struct {
	PID    int      // 0: not running
	Starts int      // successful ones
	Exit   string   // how the child ended last or why it could not start, "" if neither happened
	Output []string // the child's last lines, oldest first
}

// Process runs one child and restarts it whenever it ends.
type Process struct {
	// Set by New.
	config Config
	output *output

	mu    sync.Mutex
	state State // without Output
}

// New makes a Process; Run starts the child.
func New(c Config) (*Process, error) {
	if c.Name == "" || c.Command == nil {
		return nil, fmt.Errorf("process: Name and Command must be set")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	c.Backoff = c.Backoff.withDefaults()
	c.Log = c.Log.With("process", c.Name)
	return &Process{config: c, output: newOutput(c.Log, c.Level, time.Now)}, nil
}

// State is a snapshot.
func (p *Process) State() State {
	p.mu.Lock()
	s := p.state
	p.mu.Unlock()
	s.Output = p.output.lastLines()
	return s
}

// Run starts the child and keeps it running until ctx is done. When it returns, the child has ended. It always returns
// nil: failures of the child are shown by State and the log.
func (p *Process) Run(ctx context.Context) error {
	failures := 0
	for ctx.Err() == nil {
		began := time.Now()
		err := p.runOnce(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) >= p.config.Backoff.Reset {
			failures = 0
		}
		wait := p.config.Backoff.nextDelay(failures)
		failures++
		p.config.Log.Warn("process ended; restarting", "why", exitText(err), "in", wait.Round(time.Millisecond))
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// runOnce runs the child once, until it has ended. When ctx is done, it stops the child.
func (p *Process) runOnce(ctx context.Context) error {
	cmd, err := p.config.Command()
	if err != nil {
		p.updateState(func(s *State) { s.Exit = exitText(err) })
		return err
	}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	cmd.SysProcAttr = attributes()
	// A process that the child started may keep its output open; do not wait for that.
	cmd.WaitDelay = time.Second

	started, exited := make(chan error, 1), make(chan error, 1)
	go func() {
		// If attributes ask the kernel to kill the child with its parent, "parent" means the thread that started it. So
		// this thread is kept, without other work, until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			exited <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		p.updateState(func(s *State) { s.Exit = exitText(err) })
		return err
	}
	p.config.Log.Info("process started", "pid", cmd.Process.Pid)
	p.updateState(func(s *State) { s.PID = cmd.Process.Pid; s.Starts++ })

	err = p.awaitExit(ctx, cmd, exited)
	p.output.flush()
	p.updateState(func(s *State) { s.PID, s.Exit = 0, exitText(err) })
	return err
}

// awaitExit waits for the child to end, and stops it when ctx is done.
func (p *Process) awaitExit(ctx context.Context, cmd *exec.Cmd, exited <-chan error) error {
	select {
	case err := <-exited:
		return err
	case <-ctx.Done():
	}
	// A signal fails only if the child has ended already.
	_ = cmd.Process.Signal(syscall.SIGTERM)
	grace := time.NewTimer(p.config.Grace)
	defer grace.Stop()
	select {
	case err := <-exited:
		return err
	case <-grace.C:
	}
	p.config.Log.Warn("process did not end in time; killing it", "grace", p.config.Grace)
	_ = cmd.Process.Kill()
	return <-exited
}

// updateState edits the state and reports it to OnChange.
func (p *Process) updateState(edit func(*State)) {
	p.mu.Lock()
	edit(&p.state)
	p.mu.Unlock()
	if p.config.OnChange != nil {
		p.config.OnChange(p.State())
	}
}

// exitText is the text of err; nil is an exit without an error.
func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}
