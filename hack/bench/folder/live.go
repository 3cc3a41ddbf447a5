package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/cli"
	"cardea.dev/cardea/internal/dataplanes"
	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/figures"
	"cardea.dev/cardea/internal/process"
	"cardea.dev/cardea/internal/standalone"
)

const (
	liveEdits    = 20
	livePatience = 2 * time.Minute
	perFile      = 100 // routes
	asCardea     = "CARDEA_BENCH_CHILD"
)

// live is a folder of n routes, served by a real cardea and a real Envoy.
type live struct {
	n       int
	envoy   string
	dir     string
	cache   string
	address string // where the Gateway binds
	port    int
	client  *http.Client
}

// beCardea makes this process cardea, if it was started for that: the figures are then those of cardea alone.
func beCardea() {
	if os.Getenv(asCardea) == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	serve := func(ctx context.Context, o standalone.Options) error {
		o.CacheDir = os.Getenv(asCardea)
		return standalone.Run(ctx, o)
	}
	program := cli.Program{Dialects: dataplanes.All(), Standalone: serve}
	code := cli.Main(ctx, os.Args[1:], program, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// liveEdit measures what a user waits for: the start, and the time from an edit of a file to the first changed answer.
func liveEdit(t table.Table) error {
	l, remove, err := newLive(t.N)
	if err != nil {
		return err
	}
	defer remove()
	for _, remembered := range []bool{false, true} {
		began := time.Now()
		c, err := l.start()
		if err != nil {
			return err
		}
		took := time.Since(began)
		how, target := "every object validated", ""
		if remembered {
			how, target = "validation remembered", t.AtFull("5 s")
		}
		t.Row("start to all live, "+how, fmt.Sprintf("%.1f s, %.1f CPU-s of Cardea", took.Seconds(),
			c.metric("process_cpu_seconds_total")), "", target)
		if remembered {
			c.memory(t, "memory of Cardea, started")
			err = l.edits(t, c)
		}
		if err := errors.Join(err, c.stop()); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) edits(t table.Table, c *child) (err error) {
	cpu := c.metric("process_cpu_seconds_total")
	answer := median(func(i int) error { return errors.Join(l.edit(i), l.answersEdit(i)) }, &err)
	cpu = c.metric("process_cpu_seconds_total") - cpu
	if err == nil {
		err = c.acked() // the edits until here
	}
	ack := median(func(i int) error { return errors.Join(l.edit(liveEdits+i), c.acked()) }, &err)
	if err != nil {
		return err
	}
	c.memory(t, fmt.Sprintf("memory of Cardea after %d edits", 2*liveEdits))
	if err := c.stop(); err != nil {
		return err
	}
	floorAck, floorAnswer, err := measureFloor(l)
	if err != nil {
		return err
	}
	row := func(what string, is, floor time.Duration) {
		t.Row("file write to "+what, fmt.Sprintf("%.1f ms", table.Milli(is)),
			table.BesideFloor(is, floor), "")
	}
	row("Envoy's ACK in the status", ack, floorAck)
	row("the first changed answer", answer, floorAnswer)
	t.Row("one edited file, all of Cardea", fmt.Sprintf("%.1f CPU-ms (mean of %d)", cpu*1000/liveEdits, liveEdits), "", "")
	return nil
}

// memory adds rows with the memory of a running cardea at rest, in MB of 1,000,000 bytes.
func (c *child) memory(t table.Table, what string) {
	c.rest()
	rss := c.metric("process_resident_memory_bytes")
	c.get("/debug/pprof/heap?gc=1")
	t.Row(what, fmt.Sprintf("RSS %.0f MB", rss/1e6),
		fmt.Sprintf("live heap %.0f MB", c.metric("go_memstats_heap_alloc_bytes")/1e6),
		t.AtFull("RSS 250 MB, live heap 110 MB"))
}

// rest waits until cardea has finished the work after the last answer: statuses, what it keeps for the next run, and
// giving memory back. It is at rest when it uses less than 20 CPU-ms in a second.
func (c *child) rest() {
	const cpu = "process_cpu_seconds_total"
	for before, now := 0.0, c.metric(cpu); now-before > 0.02; before, now = now, c.metric(cpu) {
		time.Sleep(time.Second)
	}
}

// median measures do as often as there are edits. After an error it does nothing.
func median(do func(i int) error, err *error) time.Duration {
	var took []time.Duration
	for i := range liveEdits {
		if *err != nil {
			return 0
		}
		began := time.Now()
		*err = do(i)
		took = append(took, time.Since(began))
	}
	return table.Median(took)
}

func newLive(n int) (*live, func(), error) {
	binary, err := process.FindPath(envoy.Program())
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	l := &live{n: n, envoy: binary, dir: filepath.Join(dir, "folder"), cache: filepath.Join(dir, "cache"),
		address: "127.0.0.1"}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, remove, err
	}
	l.port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	target := net.JoinHostPort(l.address, strconv.Itoa(l.port))
	l.client = &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", target)
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		return nil, remove, err
	}
	return l, remove, l.write()
}

// write makes the folder: the edited route has its own file, the others are in files of a hundred.
func (l *live) write() error {
	gateway := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n"+
		"metadata: {name: web, namespace: bench}\n"+
		"spec: {gatewayClassName: cardea, listeners: [{name: http, port: %d, protocol: HTTP}]}\n", l.port)
	if err := os.WriteFile(filepath.Join(l.dir, "gateway.yaml"), []byte(gateway), 0o644); err != nil {
		return err
	}
	for first := 1; first < l.n; first += perFile {
		var text strings.Builder
		for i := first; i < min(first+perFile, l.n); i++ {
			text.WriteString(routeText(i, ""))
		}
		if err := os.WriteFile(filepath.Join(l.dir, fmt.Sprintf("routes-%05d.yaml", first)), []byte(text.String()),
			0o644); err != nil {
			return err
		}
	}
	return l.edit(-1)
}

// edit writes the edited route: it redirects to a path with the number of the edit.
func (l *live) edit(i int) error {
	path := filepath.Join(l.dir, "edited.yaml")
	if err := os.WriteFile(path+".draft", []byte(routeText(0, fmt.Sprintf("edit%d", i))), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".draft", path)
}

// routeText is a route of one rule with its own host, Service and slice. If to is not "" it has another that redirects
// there, so that an answer needs no backend.
func routeText(i int, to string) string {
	var redirect string
	if to != "" {
		redirect = `
  - matches: [{path: {type: Exact, value: /moved}}]
    filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /` + to + `}}}]`
	}
	return strings.NewReplacer("NAME", name(i), "REDIRECT", redirect).Replace(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME, namespace: bench}
spec:
  parentRefs: [{name: web}]
  hostnames: [NAME.example.com]
  rules:REDIRECT
  - backendRefs: [{name: NAME, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: bench}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: NAME, namespace: bench, labels: {kubernetes.io/service-name: NAME}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: 9}]
`)
}

// answers asks the edited host again and again until the redirect is right.
func (l *live) answers(right func(location string) bool) error {
	var last error
	for end := time.Now().Add(livePatience); time.Now().Before(end); {
		response, err := l.client.Get("http://" + name(0) + ".example.com/moved")
		if last = err; err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusFound && right(response.Header.Get("Location")) {
			return nil
		}
		last = fmt.Errorf("answered %s, %s", response.Status, response.Header.Get("Location"))
	}
	return fmt.Errorf("the edited route is not live: %w", last)
}

func (l *live) answersEdit(i int) error {
	return l.answers(func(location string) bool { return strings.HasSuffix(location, fmt.Sprintf("/edit%d", i)) })
}

// child is a running cardea.
type child struct {
	cmd        *exec.Cmd
	admin      string
	generation int64 // of the edited route
	ended      bool
	searches   chan search // what was found by trials
}

// start runs cardea and waits until all routes are live.
func (l *live) start() (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{searches: make(chan search, 100), cmd: exec.Command(self, "standalone", l.dir,
		"--admin", "127.0.0.1:0", "--bind", l.address, "--envoy", l.envoy, "--log-format", "json")}
	c.cmd.Env = append(os.Environ(), asCardea+"="+l.cache)
	logs, err := c.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	listening := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			var line struct {
				Msg, Address string
				search
			}
			if json.Unmarshal(lines.Bytes(), &line) != nil {
				continue
			}
			switch line.Msg {
			case "admin API listens":
				listening <- line.Address
			case "refused content found":
				c.searches <- line.search
			}
		}
	}()
	select {
	case address := <-listening:
		c.admin = "http://" + address
	case <-time.After(livePatience):
		return nil, errors.Join(errors.New("cardea does not start"), c.stop())
	}
	for end := time.Now().Add(livePatience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := c.get("/readyz"); err == nil {
			return c, l.answers(func(string) bool { return true })
		} else if time.Now().After(end) {
			return nil, errors.Join(err, c.stop())
		}
	}
}

func (c *child) stop() error {
	if c.ended {
		return nil
	}
	c.ended = true
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return c.cmd.Wait()
}

func (c *child) get(path string) ([]byte, error) {
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

// metric is the value of a metric of cardea, 0 if there is none.
func (c *child) metric(name string) float64 {
	body, err := c.get("/metrics")
	if err != nil {
		return 0
	}
	return figures.Read(body)[name]
}

// acked waits until the edited route has a newer generation that is acknowledged.
func (c *child) acked() error {
	for end := time.Now().Add(livePatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		body, err := c.get("/objects/httproute/bench/" + name(0))
		if err != nil {
			return err
		}
		var o struct {
			Metadata struct{ Generation int64 }
			Status   struct {
				Parents []struct {
					Conditions []struct {
						Type, Status       string
						ObservedGeneration int64
					}
				}
			}
		}
		if err := json.Unmarshal(body, &o); err != nil {
			return err
		}
		for _, p := range o.Status.Parents {
			for _, k := range p.Conditions {
				live := k.Type == "cardea.dev/Programmed" && k.Status == "True" && k.ObservedGeneration == o.Metadata.Generation
				if live && o.Metadata.Generation > c.generation {
					c.generation = o.Metadata.Generation
					return nil
				}
			}
		}
	}
	return errors.New("the edit is not acknowledged")
}
