package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/ops/cli"
)

const (
	liveEdits = 20
	asCardea  = "CARDEA_BENCH_CHILD"
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
			c.CPU()), "", target)
		if remembered {
			c.memory(t, "memory of Cardea, started")
			err = l.edits(t, c)
		}
		if err := errors.Join(err, c.Stop()); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) edits(t table.Table, c *served) (err error) {
	cpu := c.CPU()
	answer := median(func(i int) error { return errors.Join(l.edit(i), l.answersEdit(i)) }, &err)
	cpu = c.CPU() - cpu
	if err == nil {
		err = c.acked() // the edits until here
	}
	ack := median(func(i int) error { return errors.Join(l.edit(liveEdits+i), c.acked()) }, &err)
	if err != nil {
		return err
	}
	c.memory(t, fmt.Sprintf("memory of Cardea after %d edits", 2*liveEdits))
	if err := c.Stop(); err != nil {
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
func (c *served) memory(t table.Table, what string) {
	resident, live := c.Memory()
	t.Row(what, fmt.Sprintf("RSS %.0f MB", resident/1e6), fmt.Sprintf("live heap %.0f MB", live/1e6),
		t.AtFull("RSS 250 MB, live heap 110 MB"))
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
	binary, err := process.FindPath(bootstrap.Program())
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
	return l, remove, scene.Write(l.dir, l.n, l.port)
}

// edit writes the edited route: it redirects to a path with the number of the edit.
func (l *live) edit(i int) error {
	return scene.Replace(filepath.Join(l.dir, "edited.yaml"), scene.Text(0, fmt.Sprintf("edit%d", i)))
}

// answers asks the edited host again and again until the redirect is right.
func (l *live) answers(right func(location string) bool) error {
	var last error
	for end := time.Now().Add(child.WaitTimeout); time.Now().Before(end); {
		response, err := l.client.Get("http://" + scene.Name(0) + ".example.com/moved")
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

// served is a running cardea that serves the folder.
type served struct {
	*child.Child
	generation int64       // of the edited route
	searches   chan search // what was found by trials
}

// start runs cardea and waits until all routes are live.
func (l *live) start() (*served, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "standalone", l.dir, "--admin", "127.0.0.1:0", "--bind", l.address, "--envoy", l.envoy,
		"--log-format", "json")
	cmd.Env = append(os.Environ(), asCardea+"="+l.cache)
	searches := make(chan search, 100)
	c, err := child.Start(cmd, func(text []byte) {
		var line struct {
			Msg string
			search
		}
		if json.Unmarshal(text, &line) == nil && line.Msg == "rejected content found" {
			searches <- line.search
		}
	})
	if err != nil {
		return nil, err
	}
	return &served{Child: c, searches: searches}, l.answers(func(string) bool { return true })
}

// acked waits until the edited route has a newer generation that is acknowledged.
func (c *served) acked() error {
	for end := time.Now().Add(child.WaitTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		body, err := c.Get("/objects/httproute/bench/" + scene.Name(0))
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
