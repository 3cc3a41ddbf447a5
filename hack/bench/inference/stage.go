package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/gateway"
)

// stage is a Gateway that serves all ways.
type stage struct {
	port, pid int // of the Envoy
	stops     []func()
}

func (s *stage) stop() {
	for _, f := range s.stops {
		f()
	}
}

// serve starts a Cardea for a folder with these ways, and waits until all of them answer. It must be stopped, also
// after an error.
func (b *bench) serve(name string, ways ...way) (s *stage, err error) {
	s = &stage{}
	ports, err := child.FreePorts(1)
	if err != nil {
		return s, err
	}
	s.port = ports[0]
	text := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n"+
		"metadata: {name: web, namespace: bench}\n"+
		"spec: {gatewayClassName: cardea, listeners: [{name: http, port: %d, protocol: HTTP}]}\n", s.port)
	for _, w := range ways {
		text += w.text()
	}
	dir := filepath.Join(b.dir, name)
	folder := filepath.Join(dir, "folder")
	if err := errors.Join(os.MkdirAll(folder, 0o755),
		os.WriteFile(filepath.Join(folder, "bench.yaml"), []byte(text), 0o644)); err != nil {
		return s, err
	}
	cmd := exec.Command(b.cardea, "standalone", folder, "--admin", "127.0.0.1:0", "--bind", "127.0.0.1",
		"--envoy", b.envoy, "--work-dir", filepath.Join(dir, "work"), "--log-format", "json")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(b.dir, "cache"))
	c, err := child.Start(cmd, nil)
	if err != nil {
		return s, err
	}
	s.stops = append(s.stops, func() { _ = c.Stop() })
	if s.pid, err = child.Proxy(dir, gateway.ProxyName(model.Ref(model.KindGateway, "bench", "web"))); err != nil {
		return s, err
	}
	for _, w := range ways {
		if err := s.ready(w); err != nil {
			return s, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return s, nil
}

// ready waits until a way answers.
func (s *stage) ready(w way) (err error) {
	for end := time.Now().Add(child.WaitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var r *http.Request
		if r, err = http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/health", s.port), nil); err != nil {
			return err
		}
		r.Host = w.host()
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(r); err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		err = errors.New(answer.Status)
	}
	return err
}
