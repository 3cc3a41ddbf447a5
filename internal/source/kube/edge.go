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

// Watcher reads a cluster.
type Watcher struct {
	graph    *flow.Graph
	sources  *input.Sources
	now      func() time.Time
	log      *slog.Logger
	clients  *clusterClients
	metrics  *readMetrics
	status   *kindStatus
	outage   *outage
	mail     *mailbox
	admitter *admitter
}

// New makes an Watcher. It makes no request.
func New(c Config) (*Watcher, error) {
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
	return &Watcher{
		graph: c.Graph, sources: c.Sources, now: c.Now, log: c.Log, clients: clients, metrics: metrics, mail: newMailbox(),
		status:   newKindStatus(c.Sources.Catalog, c.OnState),
		outage:   newOutage(c.Log, c.Now),
		admitter: newAdmitter(c.Graph, c.Sources),
	}, nil
}

// State is how reading goes. It may be called from any goroutine.
func (e *Watcher) State() State { return e.status.snapshot() }

// Run follows the cluster until ctx ends, and returns its error when everything that it started has ended. The objects
// that it read stay in the graph. It is called once.
func (e *Watcher) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	feeds := map[model.Kind]*feed{}
	for _, k := range e.sources.Catalog.All() {
		if k.ReadScope != kind.OnDemand {
			f := newFeed(e, k)
			feeds[k.Kind] = f
			group.Go(func() { f.run(ctx) })
		}
	}
	e.admitter.relistKind = func(kind model.Kind) { signalChannel(feeds[kind].relist) }
	e.admitter.startReading = func(ref model.ObjectRef, keys kind.DataKeys) func() {
		ctx, stop := context.WithCancel(ctx)
		group.Go(func() { e.followObject(ctx, ref, keys) })
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
		next := e.admitter.processEvents(e.mail.takeEvents(), e.now())
		e.reportCounts()
		if timer.Stop(); !next.IsZero() {
			timer.Reset(next.Sub(e.now()))
		}
	}
}

// reportCounts tells what the admitter has.
func (e *Watcher) reportCounts() {
	e.status.setCounts(e.admitter.synced, func(kind model.Kind) (int, bool) {
		n := len(e.admitter.objects.PublishedOfKind(kind))
		e.metrics.setObjects(kind, n)
		return n, e.admitter.kindsRead[kind] && e.admitter.canJudge(kind)
	})
}
