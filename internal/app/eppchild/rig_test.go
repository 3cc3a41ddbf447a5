package eppchild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/epp/members"
)

// The tests' pickers are this binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "picker" {
		if err := picker(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// picker serves the admin API of a picker, except for /metrics, which never answers. When it is told to end, it goes on
// until the folder that has its own has a file "end".
func picker(args []string) error {
	flags := map[string]string{}
	for pair := range slices.Chunk(args, 2) {
		flags[pair[0]] = pair[len(pair)-1] // the last one has no value
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	pages := http.NewServeMux()
	pages.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	pages.HandleFunc("/metrics", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	go func() { _ = http.Serve(listener, pages) }()
	at, file := listener.Addr().String(), flags["--addresses"]
	if err := os.WriteFile(file+".draft", []byte(at+"\n"+at+"\n"), 0o600); err != nil {
		return err
	}
	if err := os.Rename(file+".draft", file); err != nil {
		return err
	}
	<-told
	for end := filepath.Join(filepath.Dir(file), "..", "end"); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(end); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// rig is Children under Run, with a plan that is written by hand.
type rig struct {
	*Children
	t          *testing.T
	pickers    *flow.Source[model.ObjectRef, plan.PickerSpec]
	backends   *flow.Source[plan.BackendKey, model.Backend]
	objectives *input.Source[v1alpha2.InferenceObjectiveSpec]
	rewrites   *input.Source[v1alpha2.InferenceModelRewriteSpec]
	secrets    *input.Source[input.SecretSpec]
}

// open makes Children, and does not start them.
func open(t *testing.T) *rig {
	t.Helper()
	g := flow.New(flow.Config{Name: t.Name()})
	sources := kinds.NewSources(g).Sources
	r := &rig{
		t: t, pickers: flow.NewSource[model.ObjectRef, plan.PickerSpec](g, "plan/picker"),
		backends:   flow.NewSource[plan.BackendKey, model.Backend](g, "plan/backend"),
		objectives: input.SourceOf[v1alpha2.InferenceObjectiveSpec](sources, model.KindInferenceObjective),
		rewrites:   input.SourceOf[v1alpha2.InferenceModelRewriteSpec](sources, model.KindModelRewrite),
		secrets:    input.SourceOf[input.SecretSpec](sources, model.KindSecret),
	}
	r.Children = New(Config{
		Graph: g, Sources: sources, Program: os.Args[0], Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		Plan: &plan.Plan{Pickers: r.pickers.Collection(), Backends: r.backends.Collection()},
	})
	g.Apply("load", func(b *flow.Batch) {
		r.pickers.MarkSynced(b)
		r.backends.MarkSynced(b)
		sources.MarkSynced(b)
		sources.Environment.MarkSynced(b)
	})
	return r
}

// run starts the Graph and the Children.
func (r *rig) run() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- r.config.Graph.Run(ctx) }()
	go func() { ended <- r.Run(ctx) }()
	r.t.Cleanup(func() {
		r.mayEnd()
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
		}
		r.client.CloseIdleConnections()
	})
}

// mayEnd lets the pickers end that are told to.
func (r *rig) mayEnd() {
	if err := os.WriteFile(filepath.Join(r.config.Dir, "end"), nil, 0o600); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) apply(edit func(b *flow.Batch)) { r.config.Graph.Apply("test", edit) }

func (r *rig) want(pool model.ObjectRef) {
	r.apply(func(b *flow.Batch) { r.pickers.Set(b, pool, plan.PickerSpec{}) })
}

func (r *rig) letGo(pool model.ObjectRef) {
	r.apply(func(b *flow.Batch) { r.pickers.Delete(b, pool) })
}

// endpoints gives a pool an endpoint for each port.
func (r *rig) endpoints(pool model.ObjectRef, ports ...int32) {
	var list []model.Endpoint
	for _, port := range ports {
		list = append(list, model.Endpoint{Address: "10.0.0.1", Port: port})
	}
	key := plan.BackendKey{Gateway: ref(model.KindGateway, "web"), Backend: model.BackendKey{Object: pool}}
	r.apply(func(b *flow.Batch) { r.backends.Set(b, key, model.Backend{Endpoints: list}) })
}

func ref(kind model.Kind, name string) model.ObjectRef { return model.Ref(kind, "shop", name) }

func pool(name string) model.ObjectRef { return ref(model.KindInferencePool, name) }

// eventually waits until ask has no error.
func (r *rig) eventually(ask func() error) {
	r.t.Helper()
	err := ask()
	for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); err = ask() {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// serves waits until the picker of a pool serves in another process than before, and the proxies may know it; it
// returns that process. Children have then read all edits from before.
func (r *rig) serves(pool model.ObjectRef, before int) (pid int) {
	r.t.Helper()
	r.eventually(func() (err error) {
		pid = r.States()[pool].PID
		r.config.Graph.View(func(v flow.View) {
			is, _ := flow.Get(v, r.config.Sources.Pickers.Collection(), pool)
			if pid == 0 || pid == before || !is.Address.IsValid() {
				err = fmt.Errorf("%s: process %d, before %d, is %+v", pool.Name(), pid, before, is)
			}
		})
		return err
	})
	return pid
}

// leaves waits until the picker of a pool was told to end.
func (r *rig) leaves(pool model.ObjectRef) {
	r.t.Helper()
	r.eventually(func() error {
		if state, is := r.States()[pool]; is {
			return fmt.Errorf("%s: %+v", pool.Name(), state)
		}
		return nil
	})
}

// told checks the endpoints in the file of a pool's picker.
func (r *rig) told(pool model.ObjectRef, want string) {
	r.t.Helper()
	r.eventually(func() error {
		text, err := os.ReadFile(filepath.Join(r.config.Dir, folderName(pool), "members.json"))
		if err != nil {
			return err
		}
		var is members.Pool
		if err := json.Unmarshal(text, &is); err != nil {
			return err
		}
		var list []string
		for _, m := range is.Members {
			list = append(list, m.Address)
		}
		if got := strings.Join(list, " "); got != want {
			return fmt.Errorf("%s is told %q, want %q", pool.Name(), got, want)
		}
		return nil
	})
}
