package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"cardea.dev/cardea/hack/bench/proc"
)

// running is a running Cardea.
type running struct {
	pid int
	ip  string // of its pod
}

// cardea waits for Cardea to be ready.
func (s *stage) cardea(ctx context.Context) (running, error) {
	pod, err := s.pod(ctx, system, ours)
	if err != nil {
		return running{}, err
	}
	pid, err := pidOfCardea()
	return running{pid, pod.Status.PodIP}, err
}

var errNotRunning = errors.New("Cardea does not run")

// pidOfCardea finds the process. Only processes of the cluster are visible, with one Cardea at most.
func pidOfCardea() (int, error) {
	pid, err := proc.Find(func(args []string) bool { return len(args) > 1 && args[1] == "controller" })
	if err == nil && pid == 0 {
		err = errNotRunning
	}
	return pid, err
}

// cpu is the CPU time of Cardea on all cores, in steps of 10 ms.
func (r running) cpu() (time.Duration, error) { return proc.CPU(r.pid) }

// resident are its resident bytes now, and at most so far.
func (r running) resident() (now, most int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch kB, _ := strconv.Atoi(words[1]); words[0] {
		case "VmRSS:":
			now = kB << 10
		case "VmHWM:":
			most = kB << 10
		}
	}
	return now, most, nil
}

// get asks for a page that probes and Prometheus have.
func (r running) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.ip+":9901"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
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

// admin asks the admin API, which listens at the loopback address of the pod.
func (r running) admin(ctx context.Context, path string) error {
	out, err := exec.CommandContext(ctx, "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", r.pid),
		"curl", "-sSf", "-o", "/dev/null", "http://127.0.0.1:9900"+path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, out)
	}
	return nil
}
