package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The tests' children are this binary with a role in its environment.
const roleVariable = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "echo": // prints each line it reads
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(in.Text())
		}
	case "stubborn": // ignores SIGTERM
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "failing":
		fmt.Fprintln(os.Stderr, "can't work like this")
		os.Exit(3)
	case "parent":
		runParent()
	default:
		goleak.VerifyTestMain(m)
	}
}

// child makes the command of a child with a role.
func child(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd
}

// running is a Process under Run, whose changes of state can be awaited.
type running struct {
	*Process
	changes chan State
	stop    func() // stops it and waits
}

func run(t *testing.T, c Config) running {
	t.Helper()
	r := running{changes: make(chan State, 1000)}
	c.Name, c.Backoff = t.Name(), Backoff{Min: time.Millisecond, Max: 10 * time.Millisecond}
	c.OnChange = func(s State) { r.changes <- s }
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r.Process = p
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// await returns the first state from now on for which ok holds.
func (r running) await(t *testing.T, what string, ok func(State) bool) State {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case s := <-r.changes:
			if ok(s) {
				return s
			}
		case <-deadline:
			t.Fatalf("never saw: %s; state is %+v", what, r.State())
		}
	}
}

// lines returns a writer for a child's input, and makes commands whose input is its other end.
func lines(t *testing.T, role string) (*os.File, func() (*exec.Cmd, error)) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); out.Close() })
	return out, func() (*exec.Cmd, error) {
		cmd := child(role)
		cmd.Stdin = in
		return cmd, nil
	}
}

func awaitOutput(t *testing.T, p *Process, line string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		for _, l := range p.State().Output {
			if l == line {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child never printed %q; state is %+v", line, p.State())
		}
	}
}

func TestChildIsStartedAgainWhenItEnds(t *testing.T) {
	in, command := lines(t, "echo")
	r := run(t, Config{Command: command})
	first := r.await(t, "first start", func(s State) bool { return s.PID != 0 })
	fmt.Fprintln(in, "hello")
	awaitOutput(t, r.Process, "hello")

	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s := r.await(t, "exit", func(s State) bool { return s.PID == 0 }); s.Exit != "signal: killed" {
		t.Errorf("Exit = %q, want %q", s.Exit, "signal: killed")
	}
	second := r.await(t, "second start", func(s State) bool { return s.PID != 0 })
	if second.PID == first.PID || second.Starts != 2 {
		t.Errorf("after the crash: %+v, want another pid and 2 starts", second)
	}
	fmt.Fprintln(in, "hello again")
	awaitOutput(t, r.Process, "hello again")
}

func TestChildThatFailsIsToldAbout(t *testing.T) {
	r := run(t, Config{Command: func() (*exec.Cmd, error) { return child("failing"), nil }})
	s := r.await(t, "three failures", func(s State) bool { return s.PID == 0 && s.Starts == 3 })
	if s.Exit != "exit status 3" || len(s.Output) == 0 || s.Output[0] != "can't work like this" {
		t.Errorf("state is %+v, want exit status 3 and what the child printed", s)
	}
}

func TestStartThatFailsIsTriedAgain(t *testing.T) {
	tries := 0
	r := run(t, Config{Command: func() (*exec.Cmd, error) {
		switch tries++; tries {
		case 1:
			return nil, errors.New("no room for the bootstrap")
		case 2:
			return exec.Command("/does/not/exist"), nil
		default:
			return child("stubborn"), nil
		}
	}, Grace: time.Millisecond})
	r.await(t, "the command's error", func(s State) bool { return s.Exit == "no room for the bootstrap" })
	r.await(t, "the start's error", func(s State) bool { return strings.Contains(s.Exit, "no such file") })
	if s := r.await(t, "start", func(s State) bool { return s.PID != 0 }); s.Starts != 1 {
		t.Errorf("Starts = %d, want 1: failed starts don't count", s.Starts)
	}
}

func TestStopIsGentleFirst(t *testing.T) {
	_, command := lines(t, "echo")
	r := run(t, Config{Command: command, Grace: time.Hour})
	r.await(t, "start", func(s State) bool { return s.PID != 0 })
	r.stop()
	if s := r.State(); s.PID != 0 || s.Exit != "signal: terminated" {
		t.Errorf("after the stop: %+v, want it terminated", s)
	}
}

func TestStopKillsAChildThatDoesNotListen(t *testing.T) {
	r := run(t, Config{Command: func() (*exec.Cmd, error) { return child("stubborn"), nil }, Grace: time.Millisecond})
	r.await(t, "start", func(s State) bool { return s.PID != 0 })
	awaitOutput(t, r.Process, "ready")
	r.stop()
	if s := r.State(); s.PID != 0 || s.Exit != "signal: killed" {
		t.Errorf("after the stop: %+v, want it killed", s)
	}
}

func TestChildHasItsOwnProcessGroup(t *testing.T) {
	_, command := lines(t, "echo")
	r := run(t, Config{Command: command})
	s := r.await(t, "start", func(s State) bool { return s.PID != 0 })
	if group, err := syscall.Getpgid(s.PID); err != nil || group != s.PID {
		t.Errorf("the child's group is %d (%v), want its pid %d: Ctrl-C must not reach it", group, err, s.PID)
	}
}

// endThreads makes many OS threads and ends them: a goroutine that ends while it is locked to its thread ends the
// thread.
func endThreads() {
	var all, ready sync.WaitGroup
	ready.Add(50)
	for range 50 {
		all.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			ready.Wait()
		})
	}
	all.Wait()
}

func TestChildOutlivesThreadsOfItsParent(t *testing.T) {
	in, command := lines(t, "echo")
	r := run(t, Config{Command: command})
	first := r.await(t, "start", func(s State) bool { return s.PID != 0 })
	for range 10 {
		endThreads()
	}
	fmt.Fprintln(in, "still here")
	awaitOutput(t, r.Process, "still here")
	if s := r.State(); s.PID != first.PID || s.Starts != 1 {
		t.Errorf("state is %+v, want the first child, pid %d", s, first.PID)
	}
}

// runParent is the role of a program that supervises a child and gets killed. Its file 3 is inherited by the child,
// too.
func runParent() {
	p, err := New(Config{Name: "child", Command: func() (*exec.Cmd, error) {
		cmd := child("stubborn")
		cmd.ExtraFiles = []*os.File{os.NewFile(3, "life")}
		return cmd, nil
	}})
	if err != nil {
		panic(err)
	}
	go p.Run(context.Background())
	for s := p.State(); len(s.Output) == 0; s = p.State() {
		time.Sleep(time.Millisecond)
	}
	endThreads()
	fmt.Println(p.State().PID)
	time.Sleep(time.Hour)
}

func TestNoChildIsLeftWhenItsParentIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can tie a child's life to its parent's")
	}
	life, inherited, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer life.Close()
	parent := child("parent")
	parent.ExtraFiles = []*os.File{inherited}
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	inherited.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the parent said nothing: %v", err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatalf("the parent said %q, want the pid of a living child", line)
	}

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // the error is the kill
	// The pipe ends when nobody holds its other end any more: the parent is gone, so it ends when the child is.
	if err := life.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := life.Read(make([]byte, 1)); err != io.EOF {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Fatalf("the child (pid %d) is still there: %v", pid, err)
	}
}
