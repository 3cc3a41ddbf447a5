package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// Config is what a Status needs.
type Config struct {
	REST       *rest.Config // its limits do not count: Status has its own
	Graph      *flow.Graph
	Catalog    *kind.Catalog // the kinds of the Reports
	Reports    plan.Reports
	controller string // of our entries in a route's status: model.ControllerName, but where a test plays another one
	Log        *slog.Logger
	Metrics    prometheus.Registerer // nil: none
	Now        func() time.Time      // nil: time.Now; stamps conditions
}

// Status writes statuses to an API server.
type Status struct {
	cfg     Config
	kinds   []*statusKind
	metrics *metrics
	term    atomic.Pointer[term] // nil while none runs
}

// New makes a Status. It does nothing before Run.
func New(cfg Config) (*Status, error) {
	if cfg.REST == nil || cfg.Graph == nil || cfg.Catalog == nil {
		return nil, errors.New("status: a client configuration, a graph and a catalog of kinds are needed")
	}
	cfg.controller = cmp.Or(cfg.controller, model.ControllerName)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m, err := newMetrics(cfg.Metrics)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return &Status{cfg: cfg, kinds: kindsOf(cfg.Catalog, cfg.Reports), metrics: m}, nil
}

// Run writes until ctx ends; then it returns nil, and no write is under way any more. It may run again later, not twice
// at once.
func (s *Status) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	t, err := s.newTerm(ctx)
	if err != nil {
		return err
	}
	defer t.endTerm()
	group.Go(func() error { t.followReports(ctx); return nil })
	for _, k := range s.kinds {
		group.Go(func() error { t.watchKind(ctx, k); return nil })
	}
	group.Go(func() error { t.writeDue(ctx); return nil })
	return group.Wait()
}

// term is one Run.
type term struct {
	*Status
	queue    *queue
	clients  statusClients
	recorder *eventRecorder
}

func (s *Status) newTerm(ctx context.Context) (*term, error) {
	clients, err := newClients(s.cfg.REST, s.kinds)
	if err != nil {
		return nil, fmt.Errorf("status: make a client: %w", err)
	}
	events, err := newEvents(ctx, s.cfg, s.metrics)
	if err != nil {
		return nil, fmt.Errorf("status: make a client for events: %w", err)
	}
	t := &term{Status: s, queue: newQueue(s.kinds, s.metrics), clients: clients, recorder: events}
	s.term.Store(t)
	return t, nil
}

func (t *term) endTerm() {
	t.term.Store(nil)
	t.recorder.stop()
	t.metrics.queue.Set(0)
}
