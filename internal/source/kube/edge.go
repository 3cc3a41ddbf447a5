package kube

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Config says which cluster is read into which graph.
type Config struct {
	REST    *rest.Config // its limits of requests a second don't count here: a watch is one request
	Graph   *flow.Graph
	Sources *input.Sources        // of Graph; nobody else fills those of objects
	Log     *slog.Logger          // nil discards
	Metrics prometheus.Registerer // nil: none
	Now     func() time.Time      // nil is time.Now
	// OnState is called when a kind was read for the first time, appears, disappears, or gets another version. It must not
	// call back.
	OnState func(State)
}

// Edge reads a cluster.
type Edge struct {
	graph   *flow.Graph
	sources *input.Sources
	now     func() time.Time
	log     *slog.Logger
	clients *clients
	metrics *metrics
	board   *board
	outage  *outage
	mail    *mailbox
	intake  *intake
}

// New makes an Edge. It makes no request.
func New(c Config) (*Edge, error) {
	if c.REST == nil || c.Graph == nil || c.Sources == nil {
		return nil, errors.New("kube: a cluster, a graph and its sources are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	clients, err := newClients(c.REST, c.Sources.Catalog)
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	return &Edge{
		graph: c.Graph, sources: c.Sources, now: c.Now, log: c.Log, clients: clients, metrics: metrics, mail: newMailbox(),
		board:  newBoard(c.Sources.Catalog, c.OnState),
		outage: newOutage(c.Log, c.Now),
		intake: newIntake(c.Graph, c.Sources),
	}, nil
}

// State is how reading goes. It may be called from any goroutine.
func (e *Edge) State() State { return e.board.state() }

// Run follows the cluster until ctx ends, and returns its error when everything that it started has ended. The objects
// that it read stay in the graph. It is called once.
func (e *Edge) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	feeds := map[model.Kind]*feed{}
	for _, k := range e.sources.Catalog.All() {
		if k.Reading != kind.OnDemand {
			f := newFeed(e, k)
			feeds[k.Kind] = f
			group.Go(func() { f.run(ctx) })
		}
	}
	e.intake.again = func(kind model.Kind) { knock(feeds[kind].relist) }
	e.intake.ask = func(ref model.ObjectRef, keys kind.Keys) func() {
		ctx, stop := context.WithCancel(ctx)
		group.Go(func() { e.point(ctx, ref, keys) })
		return stop
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.mail.wake:
		case <-timer.C:
		}
		next := e.intake.work(e.mail.take(), e.now())
		e.report()
		if timer.Stop(); !next.IsZero() {
			timer.Reset(next.Sub(e.now()))
		}
	}
}

// report tells what the admitter has.
func (e *Edge) report() {
	e.board.count(e.intake.synced, func(kind model.Kind) (int, bool) {
		n := len(e.intake.life.AllKnown(kind))
		e.metrics.count(kind, n)
		return n, e.intake.read[kind] && e.intake.judges(kind)
	})
}
