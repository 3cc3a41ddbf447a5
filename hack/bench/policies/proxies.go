package main

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"text/template"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/translate/gateway"
)

// proxy is a running Envoy.
type proxy struct{ pid, port int }

//go:embed by_hand.yaml
var byHand string

var configuration = template.Must(template.New("").Parse(byHand))

// written starts an Envoy with the configuration that is written by hand.
func (b *bench) written(s set, port, backend int) (p proxy, stop func(), err error) {
	path := filepath.Join(b.dir, s.Name+".yaml")
	file, err := os.Create(path)
	if err != nil {
		return p, nil, err
	}
	var names []string
	for i := range hosts {
		names = append(names, host(i))
	}
	err = configuration.Execute(file, struct {
		set
		Port, Backend int
		Keys          string
		Hosts         []string
	}{s, port, backend, b.login.Keys, names})
	if err := errors.Join(err, file.Close()); err != nil {
		return p, nil, err
	}
	cmd := exec.Command(b.envoy, append(bootstrap.Flags(), "--config-path", path, "--concurrency",
		strconv.Itoa(runtime.NumCPU()))...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return p, nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return proxy{cmd.Process.Pid, port}, stop, nil
}

// standalone starts cardea on a folder.
func (b *bench) standalone(folder string) (*child.Child, error) {
	cmd := exec.Command(b.cardea, "standalone", folder, "--admin", "127.0.0.1:0", "--bind", "127.0.0.1",
		"--envoy", b.envoy, "--work-dir", filepath.Join(b.dir, "work"), "--log-format", "json")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+b.cache())
	return child.Start(cmd, nil)
}

// cache is where cardea remembers what was valid.
func (b *bench) cache() string { return filepath.Join(b.dir, "cache") }

// rendered finds the Envoys that Cardea has started for the sets' Gateways.
func (b *bench) rendered(ports []int) (list []proxy, err error) {
	for i, s := range sets {
		pid, err := child.Proxy(b.dir, gateway.ProxyName(model.Ref(model.KindGateway, "bench", s.Name)))
		if err != nil {
			return nil, err
		}
		list = append(list, proxy{pid, ports[i]})
	}
	return list, nil
}

// ready waits until a proxy answers.
func (p proxy) ready(requests [][]byte) error {
	var err error
	for end := time.Now().Add(child.WaitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err = load(p.port, connections, requests); err == nil {
			return nil
		}
	}
	return err
}
