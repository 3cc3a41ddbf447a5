package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"cardea.dev/cardea/internal/deliver/process"
)

// setup is the running programs and their ports.
type setup struct {
	bin, dir           string
	offset             int // of the gateway's port
	blue, green, admin int // ports
	// prometheus is the program that reads the proxies' metrics, "": none, and dashboard the port of its pages.
	prometheus string
	dashboard  int
}

// run starts everything, calls body when it is ready, and stops everything. It fails as soon as a program ends by
// itself.
func (s setup) run(ctx context.Context, body func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Cardea is stopped first, so that no request reaches a gateway without backends.
	stopBackends, err := s.start(ctx, cancel, map[string][]string{
		"blue":  {"backend", "-name", "blue", "-listen", fmt.Sprintf("localhost:%d", s.blue)},
		"green": {"backend", "-name", "green", "-listen", fmt.Sprintf("localhost:%d", s.green)},
	})
	if err != nil {
		return err
	}
	defer stopBackends()
	programs := map[string][]string{
		"cardea": {"cardea", "standalone", s.dir, "--port-offset=" + strconv.Itoa(s.offset),
			fmt.Sprintf("--admin=127.0.0.1:%d", s.admin)},
	}
	if s.prometheus != "" {
		data, err := os.MkdirTemp("", "cardea-demo-metrics-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(data)
		programs["prometheus"] = s.prometheusCommand(data)
	}
	stopCardea, err := s.start(ctx, cancel, programs)
	if err != nil {
		return err
	}
	defer stopCardea()
	if err := eventually(ctx, func() error { return s.ready(ctx) }); err != nil {
		return err
	}
	return body(ctx)
}

// start runs programs of bin under the given names; stop stops them and waits.
func (s setup) start(
	ctx context.Context, failed context.CancelCauseFunc, programs map[string][]string,
) (stop func(), err error) {
	var all []*process.Process
	for name, args := range programs {
		p, err := process.New(process.Config{
			Name: name,
			Command: func() (*exec.Cmd, error) {
				return exec.Command(s.program(args[0]), args[1:]...), nil
			},
			Log: slog.New(lines{os.Stderr, name}),
			OnChange: func(state process.State) {
				if state.PID == 0 {
					failed(fmt.Errorf("%s ended: %s\n%s", name, state.Exit, strings.Join(state.Output, "\n")))
				}
			},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	// stop ends it, not ctx: so that programs end in order.
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() { _ = p.Run(running) }) // it returns nil, always
	}
	return func() { end(); wait.Wait() }, nil
}

// program is where a program is: in bin, unless its path is given.
func (s setup) program(name string) string {
	if filepath.Base(name) != name {
		return name
	}
	return filepath.Join(s.bin, name)
}

// ready returns nil if Cardea's first configuration is live.
func (s setup) ready(ctx context.Context) error {
	status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", s.admin))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("cardea is not ready: %s", strings.TrimSpace(body))
	}
	return err
}

// get is a page, of which the first MiB is read.
func get(ctx context.Context, url string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, string(text), err
}

// lines is a slog.Handler that prints only what a program prints, after its name.
type lines struct {
	to   io.Writer
	name string
}

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l lines) WithGroup(string) slog.Handler            { return l }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	var err error
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == process.LineKey {
			_, err = fmt.Fprintf(l.to, "%-6s | %s\n", l.name, a.Value)
		}
		return true
	})
	return err
}
