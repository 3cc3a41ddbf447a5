// Package child runs `cardea standalone` as a child process, whose figures are then those of Cardea alone.
//
// It owns the process and its admin API. It must never know what is in the folder, nor what is measured. Its methods
// are called from one goroutine. Start reading at Start.
package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"syscall"
	"time"

	"cardea.dev/cardea/internal/test/promtext"
)

// WaitTimeout is how long anything may take.
const WaitTimeout = 10 * time.Minute

// Child is a running cardea.
type Child struct {
	cmd   *exec.Cmd
	admin string
	ended bool
}

// Start runs cmd, which is cardea with the flags `--admin 127.0.0.1:0 --log-format json`, until it is ready. Each line
// of its log is passed to log, if that is not nil.
func Start(cmd *exec.Cmd, log func(line []byte)) (*Child, error) {
	logs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Child{cmd: cmd}
	listening := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "admin API listens" {
				listening <- line.Address
			}
			if log != nil {
				log(lines.Bytes())
			}
		}
	}()
	select {
	case address := <-listening:
		c.admin = "http://" + address
	case <-time.After(WaitTimeout):
		return nil, errors.Join(errors.New("cardea does not start"), c.Stop())
	}
	for end := time.Now().Add(WaitTimeout); ; time.Sleep(5 * time.Millisecond) {
		if _, err := c.Get("/readyz"); err == nil {
			return c, nil
		} else if time.Now().After(end) {
			return nil, errors.Join(err, c.Stop())
		}
	}
}

// Stop ends it, once.
func (c *Child) Stop() error {
	if c.ended {
		return nil
	}
	c.ended = true
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return c.cmd.Wait()
}

// Get asks the admin API.
func (c *Child) Get(path string) ([]byte, error) {
	response, err := http.Get(c.admin + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return body, err
}

// Metric is the value of a metric, 0 if there is none.
func (c *Child) Metric(name string) float64 {
	body, err := c.Get("/metrics")
	if err != nil {
		return 0
	}
	return promtext.Read(body)[name]
}

// CPU is the CPU time used so far, in seconds.
func (c *Child) CPU() float64 { return c.Metric("process_cpu_seconds_total") }

// Rest waits until cardea has finished the work after the last answer: statuses, what it keeps for the next run, and
// giving memory back. It is at rest when it uses less than 20 CPU-ms in a second. With very many objects to be asked
// takes more than that by itself; the wait ends after half a minute.
func (c *Child) Rest() {
	end := time.Now().Add(30 * time.Second)
	for before, now := 0.0, c.CPU(); now-before > 0.02 && time.Now().Before(end); before, now = now, c.CPU() {
		time.Sleep(time.Second)
	}
}

// Memory is what it takes at rest, in bytes.
func (c *Child) Memory() (resident, liveHeap float64) {
	c.Rest()
	resident = c.Metric("process_resident_memory_bytes")
	_, _ = c.Get("/debug/pprof/heap?gc=1")
	return resident, c.Metric("go_memstats_heap_alloc_bytes")
}
