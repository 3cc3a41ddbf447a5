package live

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/internal/epp"
)

// TestPickerProgram: `cardea picker` reads a file of endpoints and their load, explains a pick, follows the file, and
// ends in order.
func TestPickerProgram(t *testing.T) {
	var endpoints []string
	for range 2 {
		s := httptest.NewServer(simulator.New(simulator.Defaults()).Handler())
		t.Cleanup(s.Close)
		endpoints = append(endpoints, s.Listener.Addr().String())
	}
	list := filepath.Join(t.TempDir(), "pool.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Join(endpoints, "\n"))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	admin := free.Addr().String()
	free.Close()
	cmd := exec.Command(e2e.Build(t), "picker", "--members", list, "--listen", "127.0.0.1:0", "--admin", admin)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	known := func() (n int) {
		answer, err := http.Post(fmt.Sprintf("http://%s/explain/v1/completions", admin), "application/json",
			strings.NewReader(`{"model":"simulated","prompt":"hi"}`))
		if err != nil {
			return -1
		}
		defer answer.Body.Close()
		var e epp.Explanation
		if err := json.NewDecoder(answer.Body).Decode(&e); err != nil {
			t.Fatal(err)
		}
		for _, s := range e.Servers {
			if s.State.Known && s.State.BlockBytes == 64 {
				n++
			}
		}
		return n
	}
	for _, want := range []int{2, 1} {
		for end := time.Now().Add(30 * time.Second); known() != want; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d servers tell their load, want %d", known(), want)
			}
		}
		write(endpoints[1])
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}
