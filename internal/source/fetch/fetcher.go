package fetch

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

const (
	// firstRetry is the wait after the first failure; each further one doubles it, up to lastRetry or the refresh time.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// atOnce is how many requests are under way at once, and ofNamespace how many of those are one namespace's. Sources
	// that took slowAfter in their last request have slowAtOnce and slowOfNamespace of their own.
	atOnce, ofNamespace         = 32, 4
	slowAtOnce, slowOfNamespace = 8, 2
	slowAfter                   = 2 * time.Second
	// firstTriesTimeout is how long Tried waits.
	patience = 5 * time.Second
)

// Config is what a Fetcher needs.
type Config struct {
	Graph   *flow.Graph
	Wanted  *flow.Collection[model.FetchKey, model.Fetch] // nil: nothing ever is
	Fetched *flow.Source[model.FetchKey, model.Fetched]
	Reach   Reach
	// Roots are who signs certificates where no backend says so; nil: those that the machine trusts.
	Roots   *x509.CertPool
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Fetcher fetches documents.
type Fetcher struct {
	cfg         Config
	outcomes    *prometheus.CounterVec
	quick, slow *lane
	tried       chan struct{}
	ask         func(context.Context, model.FetchKey, model.Fetch, string) (answer, error) // get, or a test's
	resolver    *net.Resolver                                                              // nil: the machine's

	// sources is used by Run only.
	sources map[model.FetchKey]*source
}

// New makes a Fetcher. It does nothing before Run.
func New(cfg Config) (*Fetcher, error) {
	f := &Fetcher{
		cfg: cfg, tried: make(chan struct{}), sources: map[model.FetchKey]*source{},
		quick: newLane(atOnce, ofNamespace), slow: newLane(slowAtOnce, slowOfNamespace),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_fetches_total",
			Help: "Requests for documents that policies name, by outcome: changed, unchanged, not-modified (304) or failed.",
		}, []string{"outcome"}),
	}
	f.ask = f.get
	if err := cfg.Metrics.Register(f.outcomes); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return f, nil
}

// Tried is closed when every document that was wanted at first was asked for once, or after 5 s. A caller that waits
// for it before it publishes does not tell proxies for a moment that nothing is known.
func (f *Fetcher) Tried() <-chan struct{} { return f.tried }

// Run fetches until ctx is done. It can be called once.
func (f *Fetcher) Run(ctx context.Context) error {
	if f.cfg.Wanted == nil {
		close(f.tried)
		return nil
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	follower := flow.Follow(f.cfg.Wanted)
	defer follower.Stop()
	first := true
	for range f.cfg.Graph.Watch(ctx) {
		var gone []*source
		f.cfg.Graph.View(func(v flow.View) {
			for change := range follower.Changes(v) {
				s, has := f.sources[change.Key]
				switch {
				case change.Deleted && has:
					delete(f.sources, change.Key)
					gone = append(gone, s)
				case change.Deleted:
				case has:
					s.change(change.Value)
				default:
					s = f.start(ctx, &running, change.Key, change.Value)
					f.sources[change.Key] = s
				}
			}
		})
		f.forget(gone)
		if first {
			first = false
			running.Go(f.waitForFirst(ctx))
		}
	}
	return nil
}

// start begins to fetch a document.
func (f *Fetcher) start(ctx context.Context, running *sync.WaitGroup, key model.FetchKey, want model.Fetch) *source {
	s := newSource(f, key, want)
	ctx, s.stop = context.WithCancel(ctx)
	running.Go(func() { s.run(ctx) })
	return s
}

// forget ends what is not wanted any more.
func (f *Fetcher) forget(gone []*source) {
	for _, s := range gone {
		s.stop()
		<-s.done
		f.cfg.Graph.Apply("fetch", func(b *flow.Batch) { f.cfg.Fetched.Delete(b, s.key) })
	}
}

// waitForFirst closes tried when all sources that there are now were asked once.
func (f *Fetcher) waitForFirst(ctx context.Context) func() {
	var asked []<-chan struct{}
	for _, s := range f.sources {
		asked = append(asked, s.asked)
	}
	return func() {
		defer close(f.tried)
		late := time.NewTimer(patience)
		defer late.Stop()
		for _, one := range asked {
			select {
			case <-one:
			case <-late.C:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}
