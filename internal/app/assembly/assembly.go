// Package assembly puts together the parts that every Cardea runs, wherever its objects come from: the graph, what
// feeds the proxies, what answers questions, and the admin API.
//
// It owns which parts there are, and what each knows of the others. It must never know where objects are read, nor who
// starts proxies: standalone and server say that, and add their own parts. Start reading at New.
package assembly

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/app/unreached"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/filesync"
	"cardea.dev/cardea/internal/deliver/xds"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/ops/objects"
	"cardea.dev/cardea/internal/source/fetch"
	"cardea.dev/cardea/internal/source/lastgood"
)

// Config is what the parts need.
type Config struct {
	World   *world.World
	Log     *slog.Logger
	Metrics *prometheus.Registry // NewMetrics makes one

	// Identify finds the identity of a proxy that connects.
	Identify func(context.Context) (xds.GatewayResolver, error)
	Limits   xds.Limits // of a Gateway's proxies
	// Files is where proxies that read files find them, and Sync how long after a write each has read it.
	Files filesync.Store
	Sync  time.Duration
	// Reach says where documents are fetched from that policies name.
	Reach fetch.Reach

	// Explain, Diff and Admin say what the source of the objects knows: who locates objects, which edits it would not
	// take, what is wrong, where the API listens. New fills in what the other parts know.
	Explain explain.Config
	Diff    diff.Config
	Admin   admin.Config
	// Older, if not nil, returns the objects that serve in an older version because a newer one was not taken, and why.
	Older func() map[model.ObjectRef]string
	// MetricFindings returns the findings for metrics, if the API's findings cost too much; nil: Admin.Findings.
	MetricFindings func() []admin.Finding
}

// Parts are those that every Cardea runs.
type Parts struct {
	XDS   *xds.Server
	Files *filesync.Writer

	runs []func(context.Context) error
}

// Metrics are those that a program exports.
type Metrics = prometheus.Registry

// NewMetrics makes a registry with the metrics of the program itself.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// New makes the parts. They do nothing before Run.
func New(c Config) (p *Parts, err error) {
	p = &Parts{}
	w := c.World
	if p.XDS, err = xds.New(xds.Config{
		Graph: w.Graph, Resources: w.Served, Feedback: w.Feedback, Protocol: w.Dialects[0].Protocol,
		Identify: c.Identify, Limits: c.Limits, Log: c.Log, Metrics: c.Metrics,
	}); err != nil {
		return nil, err
	}
	if p.Files, err = filesync.New(filesync.Config{
		Graph: w.Graph, Gateways: w.Plan.Gateways, Resources: w.Outputs.Resources, Feedback: w.Feedback,
		Dialect: w.Dialect,
		Store:   c.Files, Sync: c.Sync, Log: c.Log, Metrics: c.Metrics,
	}); err != nil {
		return nil, err
	}
	fetcher, err := fetch.New(fetch.Config{
		Graph: w.Graph, Wanted: w.Plan.Fetches, Fetched: w.Sources.Fetched, Reach: c.Reach, Log: c.Log,
		Metrics: c.Metrics,
	})
	if err != nil {
		return nil, err
	}
	keeper := lastgood.New(lastgood.Config{Graph: w.Graph, Used: w.Plan.Materials, Kept: w.Sources.LastGood})
	shown, explainer := objects.New(w, c.olderObjects(p.XDS)), explain.New(c.explainConfig(p.XDS))
	api, err := admin.New(c.adminConfig(shown, explainer, p.XDS))
	if err != nil {
		return nil, err
	}
	p.runs = []func(context.Context) error{
		w.Graph.Run, fetcher.Run, keeper.Run, runAfter(fetcher.FirstTriesDone(), p.XDS.Run),
		runAfter(fetcher.FirstTriesDone(), p.Files.Run),
		shown.Run, explainer.Run, api.Run,
	}
	if c.Explain.Picker != nil {
		p.runs = append(p.runs, unreached.New(unreached.Config{
			Graph: w.Graph, Pickers: w.Plan.Pickers, States: w.Sources.Unreached, Admin: c.Explain.Picker,
		}).Run)
	}
	return p, nil
}

// runAfter runs a part when another one is ready. So nothing is published after a restart before documents were
// fetched: proxies keep what they have until then.
func runAfter(ready <-chan struct{}, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ready:
			return run(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

func (c Config) explainConfig(proxies *xds.Server) explain.Config {
	e := c.Explain
	e.World, e.Sent, e.Offered, e.Each = c.World, proxies.FirstSent, proxies.FindOffer, proxies.ProxyProgress
	return e
}

// adminConfig says what the admin API shows.
func (c Config) adminConfig(shown *objects.Objects, explainer *explain.Explainer, proxies *xds.Server) admin.Config {
	w, counted := c.World, c.MetricFindings
	if counted == nil {
		counted = c.Admin.Findings
	}
	c.Metrics.MustRegister(admin.GraphMetrics(w.Graph), admin.ProxyMetrics(w.Graph, w.Feedback, proxies.CountBehind),
		admin.FindingMetrics(counted))
	d := c.Diff
	d.World, d.Offered = w, proxies.FindOffer
	a := c.Admin
	a.Graph, a.Catalog, a.Objects, a.Gatherer, a.Log = w.Graph, w.Sources.Catalog, shown, c.Metrics, c.Log
	a.Explainer, a.Differ = explainer, diff.New(d)
	return a
}

// Run runs the parts, and more, until ctx is done or one fails.
func (p *Parts) Run(ctx context.Context, more ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range append(p.runs, more...) {
		group.Go(func() error { return run(ctx) })
	}
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
