package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/internal/epp"
	"cardea.dev/cardea/internal/test/promtext"
)

// processor is a process that a proxy asks about each request.
type processor struct {
	pid, port int
	admin     string // of a picker; ""
}

// picker starts Cardea's for these servers, and waits until it knows the load of all of them.
func (b *bench) picker(servers []int) (p processor, stop func(), err error) {
	var lines []string
	for _, port := range servers {
		lines = append(lines, fmt.Sprintf("127.0.0.1:%d\n", port))
	}
	list := filepath.Join(b.dir, fmt.Sprintf("members-%d", servers[0]))
	if err := os.WriteFile(list, []byte(strings.Join(lines, "")), 0o644); err != nil {
		return p, nil, err
	}
	ports, err := child.FreePorts(2)
	if err != nil {
		return p, nil, err
	}
	admin := fmt.Sprintf("127.0.0.1:%d", ports[1])
	p, stop, err = start(ports[0], exec.Command(b.cardea, "picker", "--members", list,
		"--listen", fmt.Sprintf("127.0.0.1:%d", ports[0]), "--admin", admin, "--log-level", "warn"))
	if err != nil {
		return p, nil, err
	}
	p.admin = "http://" + admin
	for end := time.Now().Add(child.WaitTimeout); knows(p.admin) != len(servers); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stop()
			return p, nil, errors.New("the picker does not learn the servers' load")
		}
	}
	return p, stop, nil
}

// knows is of how many servers a picker knows the load.
func knows(admin string) (n int) {
	answer, err := http.Get(admin + "/explain")
	if err != nil {
		return -1
	}
	defer answer.Body.Close()
	var e epp.Explanation
	if err := json.NewDecoder(answer.Body).Decode(&e); err != nil {
		return -1
	}
	for _, s := range e.Servers {
		if s.State.Known {
			n++
		}
	}
	return n
}

// asked is how many requests a picker was asked about.
func (p processor) asked() (int, error) {
	answer, err := http.Get(p.admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return int(promtext.Read(text).Sum("inference_objective_request_total")), err
}

// empty starts the external processor that does nothing.
func (b *bench) empty() (p processor, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return p, nil, err
	}
	ports, err := child.FreePorts(1)
	if err != nil {
		return p, nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=127.0.0.1:%d", asEmpty, ports[0]))
	return start(ports[0], cmd)
}

func start(port int, cmd *exec.Cmd) (p processor, stop func(), err error) {
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return p, nil, err
	}
	return processor{pid: cmd.Process.Pid, port: port}, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}, nil
}
