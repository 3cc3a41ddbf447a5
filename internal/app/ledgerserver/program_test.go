package ledgerserver

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cardea")
	out, err := exec.Command("go", "build", "-o", program, "cardea.dev/cardea/cmd/cardea").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// servers are processes of `cardea ledger serve`, one after the other.
type servers struct {
	t            *testing.T
	program, url string
	now          atomic.Pointer[server]
}

// server is one of them.
type server struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	ended   chan struct{}
	err     error // of Wait

	mu  sync.Mutex
	log strings.Builder
}

// address is where the server listens that was started last; "": nowhere yet.
func (s *servers) address() string {
	if now := s.now.Load(); now != nil {
		return now.address
	}
	return ""
}

var listens = regexp.MustCompile(`ledger API listens" address=(\S+)`)

// start starts a server that ends itself at a failpoint, and waits until it listens; "": it goes on.
func (s *servers) start(failpoint string, worker bool) *server {
	s.t.Helper()
	args := []string{"ledger", "serve", "--ledger", s.url, "--listen", "127.0.0.1:0"}
	if !worker {
		args = append(args, "--no-workers")
	}
	one := &server{t: s.t, cmd: exec.Command(s.program, args...), ended: make(chan struct{})}
	one.cmd.Env = append(os.Environ(), "CARDEA_LEDGER_FAILPOINT="+failpoint)
	out, err := one.cmd.StderrPipe()
	if err == nil {
		err = one.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(one.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			one.mu.Lock()
			one.log.WriteString(lines.Text() + "\n")
			one.mu.Unlock()
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				listening <- m[1]
			}
		}
		one.err = one.cmd.Wait()
	}()
	s.t.Cleanup(func() {
		_ = one.cmd.Process.Kill()
		<-one.ended
		if s.t.Failed() {
			s.t.Logf("the server with failpoint %q said:\n%s", failpoint, one.log.String())
		}
	})
	select {
	case one.address = <-listening:
		s.now.Store(one)
	case <-one.ended: // its worker may be quicker
		if failpoint == "" {
			s.t.Fatalf("the server ended: %v", one.err)
		}
	case <-time.After(waitTimeout):
		s.t.Fatal("the server does not listen")
	}
	return one
}

// killed waits until the server has ended itself.
func (s *server) killed(failpoint string) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(waitTimeout):
		s.t.Fatalf("the server did not come to %s", failpoint)
	}
	exit, is := errors.AsType[*exec.ExitError](s.err)
	if !is || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.t.Fatalf("the server ended with %v", s.err)
	}
}

// stop ends the server as an operator does.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Error(err)
	}
	<-s.ended
	if s.err != nil {
		s.t.Errorf("the server ended with %v", s.err)
	}
}
