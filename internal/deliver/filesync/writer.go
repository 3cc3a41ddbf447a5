package filesync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Config is what a Writer needs.
type Config struct {
	Graph    *flow.Graph
	Gateways *flow.Collection[model.ObjectRef, model.Gateway]
	// Resources has one collection per type, as dialects make them (resource.Outputs).
	Resources []*flow.Collection[resource.Key, resource.Resource]
	Feedback  *resource.Feedback
	Dialect   func(model.DataPlane) dataplane.Dialect
	Store     Store
	// Sync is how long after a write every proxy has read it.
	Sync    time.Duration
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: none
	Now     func() time.Time      // nil: time.Now
}

// Writer writes the files of all Gateways with proxies that read files.
type Writer struct {
	cfg     Config
	metrics *metrics

	// The goroutine of Run uses these alone.
	gateways  *flow.Follower[model.ObjectRef, model.Gateway]
	resources []*flow.Follower[resource.Key, resource.Resource] // none before the first Gateway with files
	targets   map[model.ObjectRef]*target

	wake chan struct{}

	mu             sync.Mutex
	rereadRequests map[model.ObjectRef]struct{} // guarded by mu: see Look
}

// New makes a Writer. It does nothing before Run.
func New(cfg Config) (*Writer, error) {
	switch {
	case cfg.Graph == nil, cfg.Gateways == nil, len(cfg.Resources) == 0, cfg.Feedback == nil:
		return nil, errors.New("proxyfiles: a graph, its Gateways and resources, and feedback sources are needed")
	case cfg.Dialect == nil, cfg.Store == nil:
		return nil, errors.New("proxyfiles: the dialects and a store are needed")
	case cfg.Sync < 0:
		return nil, fmt.Errorf("proxyfiles: the time that proxies take to read files is %v; it can't be negative", cfg.Sync)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m, err := newMetrics(cfg.Metrics)
	if err != nil {
		return nil, fmt.Errorf("proxyfiles: register metrics: %w", err)
	}
	return &Writer{
		cfg: cfg, metrics: m, targets: map[model.ObjectRef]*target{}, wake: make(chan struct{}, 1),
		rereadRequests: map[model.ObjectRef]struct{}{},
	}, nil
}

// RequestReread has the Writer read again what is written of a Gateway, since somebody else may have changed it. It may
// be called from any goroutine.
func (w *Writer) RequestReread(gateway model.ObjectRef) {
	w.mu.Lock()
	w.rereadRequests[gateway] = struct{}{}
	w.mu.Unlock()
	w.wakeUp()
}

func (w *Writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes until ctx is done. The files stay.
func (w *Writer) Run(ctx context.Context) error {
	w.gateways = flow.Follow(w.cfg.Gateways)
	defer w.gateways.Stop()
	defer func() {
		for _, f := range w.resources {
			f.Stop()
		}
	}()
	turns := w.cfg.Graph.Notify(ctx)
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		select {
		case _, open := <-turns:
			if !open {
				return nil
			}
			w.applyTurn(ctx)
		case <-w.wake:
			w.rereadRequested()
		case <-alarm.C:
		}
		alarm.Reset(w.writeDue(ctx))
	}
}

// writeDue writes what is due, and tells after how long it is to be called again at the latest.
func (w *Writer) writeDue(ctx context.Context) time.Duration {
	wait := time.Hour
	for _, t := range w.targets {
		if !w.cfg.Now().Before(t.due) {
			w.advanceTarget(ctx, t)
		}
		wait = min(wait, max(0, t.due.Sub(w.cfg.Now())))
	}
	return wait
}

// rereadRequested forgets what is known of what is written.
func (w *Writer) rereadRequested() {
	w.mu.Lock()
	looked := w.rereadRequests
	w.rereadRequests = map[model.ObjectRef]struct{}{}
	w.mu.Unlock()
	for ref := range looked {
		if t := w.targets[ref]; t != nil {
			t.isRead, t.due = false, w.cfg.Now()
		}
	}
}
