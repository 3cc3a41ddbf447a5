package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/ledger"
)

// Config is what a Worker needs.
type Config struct {
	Work ledger.Work
	// Targets answers what targets want of drift. It is asked when there is drift.
	Targets func(context.Context) ([]ledger.Target, error)
	// Changes, if not nil, tells of changes at once, and of contents when messages say what differs. Without it, work is
	// found by asking for it (Poll), and messages do not say what was wanted.
	Changes ledger.Reader
	// News, if not nil, is asked in place of Changes whether there is something new: it answers the number of the newest
	// change as soon as that is another one than after, or after a while. For workers that may not read everything.
	News func(ctx context.Context, after int64) (int64, error)
	// its rate limits are not used; its clients should make each request once (kubeclient.NoRetryConfig)
	REST    *rest.Config
	Cluster string // its name in the ledger
	Worker  string // another name for each process
	// Catalog has the kinds with controllers that say in the status whether an object serves: until they do, it is not
	// live. nil: there are none.
	Catalog *kind.Catalog
	// Adopt takes a change that was made in the cluster into the ledger. nil: such drift is only told.
	Adopt func(context.Context, ledger.Draft) error

	Parallel int           // objects that are written at a time; 0: 8
	Lease    time.Duration // 0: 10 s. A request may take a third of it
	Poll     time.Duration // how often the ledger is asked for work; 0: 5 s
	Recheck  time.Duration // how often it is asked whether what failed for good can succeed now; 0: 10 s
	Resync   time.Duration // how often everything is compared again; 0: 10 min
	// Now is for metrics and for the pace of corrections, nothing else: of leases only the ledger's clock counts, and
	// durations. nil: time.Now.
	Now     func() time.Time
	Metrics *Metrics     // nil: nothing is counted
	Log     *slog.Logger // nil: nothing is logged
}

func (c *Config) setDefaults() error {
	if c.Work == nil || c.Targets == nil || c.REST == nil || c.Cluster == "" || c.Worker == "" {
		return errors.New("apply: Work, Targets, REST, Cluster and Worker must be set")
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.Lease, 10 * time.Second}, {&c.Poll, 5 * time.Second}, {&c.Recheck, 10 * time.Second},
		{&c.Resync, 10 * time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.Parallel == 0 {
		c.Parallel = 8
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = newMetrics()
	}
	c.Log = c.Log.With("cluster", c.Cluster)
	return nil
}

// Worker makes a cluster what the ledger wants.
type Worker struct {
	cfg     Config
	api     *apiServer
	marker  marker
	blocked blockedObjects
	watcher *watcher
	wake    chan struct{} // work may be due
	down    chan struct{} // the API server can't be reached
}

// New builds a Worker. Nothing is asked of the cluster or the ledger before Run.
func New(c Config) (*Worker, error) {
	if err := c.setDefaults(); err != nil {
		return nil, err
	}
	api, err := newAPI(c.REST, c.Lease/3)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server of %s: %w", c.Cluster, err)
	}
	w := &Worker{cfg: c, api: api, marker: marker{api: api}, wake: make(chan struct{}, 1), down: make(chan struct{}, 1)}
	w.blocked.keys = map[ledger.Key]blockReason{}
	w.watcher = newWatcher(w)
	return w, nil
}

// Run works until ctx ends. Then it finishes the claims that are under way, which takes no longer than a lease.
func (w *Worker) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, run := range []func(context.Context){w.runClaims, w.followChanges, w.runRechecks, w.watcher.run} {
		group.Go(func() { run(ctx) })
	}
	group.Wait()
	return nil
}

// wakeUp tells the worker that there may be work.
func (w *Worker) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sleep waits for a duration. False: ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
