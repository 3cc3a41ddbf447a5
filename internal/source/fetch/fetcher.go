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
	// minRetryDelay is the wait after the first failure; each further one doubles it, up to maxRetryDelay or the refresh
	// time.
	minRetryDelay = time.Second
	maxRetryDelay = time.Minute
	// maxConcurrent is how many requests are under way at once, and maxPerNamespace how many of those are one namespace's.
	// Sources that took slowThreshold in their last request have maxSlowConcurrent and maxSlowPerNamespace of their own.
	maxConcurrent, maxPerNamespace         = 32, 4
	maxSlowConcurrent, maxSlowPerNamespace = 8, 2
	slowThreshold                          = 2 * time.Second
	// firstTriesTimeout is how long Tried waits.
	firstTriesTimeout = 5 * time.Second
)

// Config is what a Fetcher needs.
type Config struct {
	Graph   *flow.Graph
	Wanted  *flow.Collection[model.FetchKey, model.FetchSpec] // nil: nothing ever is
	Fetched *flow.Source[model.FetchKey, model.FetchState]
	Reach   Reach
	// Roots are who signs certificates where no backend says so; nil: those that the machine trusts.
	Roots   *x509.CertPool
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Fetcher fetches documents.
type Fetcher struct {
	cfg            Config
	outcomes       *prometheus.CounterVec
	quick, slow    *lane
	firstTriesDone chan struct{}
	request        func(context.Context, model.FetchKey, model.FetchSpec, string) (answer, error) // get, or a test's
	resolver       *net.Resolver                                                                  // nil: the machine's

	// sources is used by Run only.
	sources map[model.FetchKey]*source
}

// New makes a Fetcher. It does nothing before Run.
func New(cfg Config) (*Fetcher, error) {
	f := &Fetcher{
		cfg: cfg, firstTriesDone: make(chan struct{}), sources: map[model.FetchKey]*source{},
		quick: newLane(maxConcurrent, maxPerNamespace), slow: newLane(maxSlowConcurrent, maxSlowPerNamespace),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_fetches_total",
			Help: "Requests for documents that policies name, by outcome: changed, unchanged, not-modified (304) or failed.",
		}, []string{"outcome"}),
	}
	f.request = f.requestDocument
	if err := cfg.Metrics.Register(f.outcomes); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return f, nil
}

// FirstTriesDone is closed when every document that was wanted at first was asked for once, or after 5 s. A caller that
// waits for it before it publishes does not tell proxies for a moment that nothing is known.
func (f *Fetcher) FirstTriesDone() <-chan struct{} { return f.firstTriesDone }

// Run fetches until ctx is done. It can be called once.
func (f *Fetcher) Run(ctx context.Context) error {
	if f.cfg.Wanted == nil {
		close(f.firstTriesDone)
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
					s.setWant(change.Value)
				default:
					s = f.startSource(ctx, &running, change.Key, change.Value)
					f.sources[change.Key] = s
				}
			}
		})
		f.forgetSources(gone)
		if first {
			first = false
			running.Go(f.waitForFirst(ctx))
		}
	}
	return nil
}

// startSource begins to fetch a document.
func (f *Fetcher) startSource(
	ctx context.Context, running *sync.WaitGroup, key model.FetchKey, want model.FetchSpec,
) *source {
	s := newSource(f, key, want)
	ctx, s.stop = context.WithCancel(ctx)
	running.Go(func() { s.run(ctx) })
	return s
}

// forgetSources ends what is not wanted any more.
func (f *Fetcher) forgetSources(gone []*source) {
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
		defer close(f.firstTriesDone)
		late := time.NewTimer(firstTriesTimeout)
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
