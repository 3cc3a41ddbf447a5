package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/ops/admin"
)

func TestACrashedProxyComesBack(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	s.expect("GET http://shop.example/ -> 200 blue")
	var waits []time.Duration
	for crash := 1; crash <= 2; crash++ {
		child := s.reads("process started")
		if err := syscall.Kill(child.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		e2e.Eventually(t, func() error {
			if n := len(s.book.find("process started")); n <= crash {
				return fmt.Errorf("started %d times", n)
			}
			return nil
		})
		// The same configuration again, and nobody had to edit anything.
		s.soon("GET http://shop.example/ -> 200 blue")
		s.says("gateway/shop/web", "Programmed=True")
		ends := s.book.find("process ended; restarting", "signal: killed")
		if len(ends) != crash {
			t.Fatalf("the log tells of %d crashes, want %d", len(ends), crash)
		}
		waits = append(waits, time.Duration(ends[crash-1].In))
	}
	if waits[0] <= 0 || waits[1] <= waits[0] {
		t.Errorf("waited %v before the restarts: the second crash must wait longer", waits)
	}
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.soon("GET http://shop.example/ -> 200 green")
}

// TestAProxyThatDoesNotRun has an Envoy that ends at once: whoever asks is told, with its words.
func TestAProxyThatDoesNotRun(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "envoy")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no such luck\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := prepare(t, t.TempDir(), shop())
	s.start(envoyAt(broken))
	e2e.Eventually(t, func() error {
		body, err := s.Get("/findings")
		if err != nil {
			return err
		}
		var list []admin.Finding
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		want := admin.Finding{Severity: "error", Object: "Gateway shop/web", Where: "gateway.yaml:1",
			Message: "the proxy does not run: exit status 3; its last line of output: no such luck"}
		if !slices.Contains(list, want) {
			return fmt.Errorf("%s\nwant %v", body, want)
		}
		return nil
	})
	e2e.Eventually(t, func() error {
		if n := s.gauges("cardea_proxy_starts_total", "gateway")["shop/web"]; n < 2 {
			return fmt.Errorf("%v starts are counted", n)
		}
		return nil
	})
	if n := s.gauges("cardea_findings", "severity")["error"]; n < 1 {
		t.Errorf("%v errors are counted, want 1 or more", n)
	}
	if body, err := s.Get("/readyz"); err == nil ||
		!strings.Contains(err.Error(), "the proxy of Gateway shop/web has not acknowledged") {
		t.Errorf("/readyz: %s, %v", body, err)
	}
}

// TestSignals ends a real cardea in three ways.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			s := prepare(t, t.TempDir(), shop())
			c := s.startBinary()
			s.Ready(t)
			s.expect("GET http://shop.example/ -> 200 blue")
			envoys := children(t, c.Process.Pid)
			if len(envoys) != 1 {
				t.Fatalf("cardea has the children %v, want one Envoy", envoys)
			}
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := c.wait()
			if signal == syscall.SIGKILL {
				e2e.Eventually(t, func() error { return gone(envoys[0]) })
				return
			}
			if err != nil {
				t.Errorf("cardea ended with %v, want exit code 0\n%s", err, c.stderr())
			}
			if err := gone(envoys[0]); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(c.temp); err != nil || len(left) > 0 {
				t.Errorf("cardea left %v in the temporary folder (%v)", left, err)
			}
		})
	}
}

// command is a real cardea.
type command struct {
	*exec.Cmd
	temp string // its folder for temporary files
	book *logbook
	wait func() error
}

// startBinary serves the stage's folder by the real binary.
func (s *stage) startBinary() *command {
	s.t.Helper()
	path, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	// Not t.TempDir: a Unix socket's path must be short.
	temp, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.RemoveAll(temp) })
	s.Address = e2e.Address()
	c := &command{temp: temp, book: s.book, Cmd: exec.Command(path, "standalone", s.Dir, "--admin", "127.0.0.1:0",
		"--bind", s.Address, "--port-offset", strconv.Itoa(e2e.Offset), "--log-format", "json")}
	c.Stdout, c.Stderr = s.book, s.book
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		s.t.Fatal(err)
	}
	c.Env = append(os.Environ(), "TMPDIR="+temp, "XDG_CACHE_HOME="+s.t.TempDir(), "CARDEA_ENVOY="+binary)
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	c.wait = sync.OnceValue(c.Wait)
	s.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.wait()
	})
	s.Admin = "http://" + s.reads("admin API listens").Address
	s.meet()
	return c
}

func (c *command) stderr() string {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	var all strings.Builder
	for _, r := range c.book.list {
		all.WriteString(r.text + "\n")
	}
	return all.String()
}

var built struct {
	sync.Once
	dir string
	err error
}

// binary builds cardea, once.
func binary() (string, error) {
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "e2e-bin-"); built.err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", built.dir,
			"cardea.dev/cardea/cmd/cardea").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build cardea: %w\n%s", err, out)
		}
	})
	return filepath.Join(built.dir, "cardea"), built.err
}

func cleanUpBinary() {
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
}

// children lists the processes that a process started and that live.
func children(t testing.TB, pid int) []int {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(paths) == 0 {
		t.Skipf("this system does not tell a process's children: %v", err)
	}
	var list []int
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // that thread has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, child)
		}
	}
	return list
}

// gone says that a process has ended; whoever inherited it may not have noticed yet.
func gone(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	if _, state, _ := bytes.Cut(stat, []byte(") ")); bytes.HasPrefix(state, []byte("Z")) ||
		bytes.HasPrefix(state, []byte("X")) {
		return nil
	}
	return fmt.Errorf("process %d lives: %s", pid, stat)
}
