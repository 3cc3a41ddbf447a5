package epp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/queue"
)

const (
	workers = 2
	// recheckInterval is after how long the cluster is looked at again where no watch tells of a change.
	recheckInterval = 15 * time.Second
	// A client that undoes every repair is not repaired at once each time: the pauses between repairs grow from firstPause
	// to lastPause, and are short again when nobody has changed anything for quietPeriod.
	firstPause  = time.Second
	lastPause   = 5 * time.Minute
	quietPeriod = 15 * time.Minute
)

// Config is what a Runner needs.
type Config struct {
	// its rate limits are not used; its clients should make each request once (kubeclient.NoRetryConfig)
	REST    *rest.Config
	Graph   *flow.Graph
	Pickers *flow.Collection[model.ObjectRef, plan.PickerSpec]
	States  *flow.Source[model.ObjectRef, model.PickerState] // is filled
	Image   string                                           // with the program that has `cardea picker`
	Log     *slog.Logger                                     // nil: nothing is logged
}

// Runner runs pickers.
type Runner struct {
	cfg           Config
	objects       dynamic.Interface
	informers     [kindsEnd]cache.SharedIndexInformer
	queue         *queue.Queue[model.ObjectRef]
	repairLimiter workqueue.TypedRateLimiter[model.ObjectRef] // of repairs

	mu          sync.Mutex // guards the fields below
	pickers     map[model.ObjectRef]plan.PickerSpec
	poolsByName map[types.NamespacedName]model.ObjectRef // the pools of the plan by the names of what is made for them
	records     map[model.ObjectRef]*record
}

// record is what is remembered of a pool. If it is lost, everything is applied once more, which changes nothing.
type record struct {
	planned        plan.PickerSpec    // for which the objects were applied
	fingerprints   [kindsEnd]string   // of the objects after they were applied; "": they were not
	noRepairBefore time.Time          // until then nothing is repaired
	state          *model.PickerState // as reported; nil: it was not
}

// New makes a Runner. It does nothing before Run.
func New(cfg Config) (*Runner, error) {
	if cfg.REST == nil || cfg.Graph == nil || cfg.Pickers == nil || cfg.States == nil {
		return nil, errors.New("pickers: a connection, a graph, its pickers and their states are needed")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	own := rest.CopyConfig(cfg.REST)
	own.QPS, own.RateLimiter, own.Timeout = -1, nil, 0 // there are few workers, and failures are retried with backoff
	objects, err := dynamic.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("pickers: %w", err)
	}
	r := &Runner{
		cfg: cfg, objects: objects, pickers: map[model.ObjectRef]plan.PickerSpec{},
		repairLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[model.ObjectRef](firstPause, lastPause),
		poolsByName:   map[types.NamespacedName]model.ObjectRef{}, records: map[model.ObjectRef]*record{},
	}
	if err := r.createInformers(); err != nil {
		return nil, fmt.Errorf("pickers: %w", err)
	}
	r.queue = queue.New(queue.Config[model.ObjectRef]{
		Do: r.reconcilePool, Workers: workers, Subject: "a picker", Log: cfg.Log,
	})
	return r, nil
}

// Run works until ctx ends. It can be called once. The pickers run on when it returns.
func (r *Runner) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer r.queue.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	synced := make([]cache.InformerSynced, kindsEnd)
	for k, informer := range r.informers {
		synced[k] = informer.HasSynced
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	planned := make(chan struct{})
	running.Go(func() { r.followPlan(ctx, planned) })
	select {
	case <-planned:
	case <-ctx.Done():
		return nil
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	r.queue.Run(ctx)
	return nil
}

// followPlan queues what changes in the plan. planned is closed when the first complete plan is known.
func (r *Runner) followPlan(ctx context.Context, planned chan<- struct{}) {
	pickers := flow.Follow(r.cfg.Pickers)
	defer pickers.Stop()
	for range r.cfg.Graph.Watch(ctx) {
		var changed []model.ObjectRef
		r.mu.Lock()
		r.cfg.Graph.View(func(v flow.View) {
			for ch := range pickers.Changes(v) {
				if changed = append(changed, ch.Key); ch.Deleted {
					delete(r.pickers, ch.Key)
					delete(r.poolsByName, nameOf(ch.Key))
				} else {
					r.pickers[ch.Key] = ch.Value
					r.poolsByName[nameOf(ch.Key)] = ch.Key
				}
			}
		})
		r.mu.Unlock()
		for _, ref := range changed {
			r.queue.Renew(ref)
		}
		if planned != nil {
			close(planned)
			planned = nil
		}
	}
}

// nameOf is the name of everything that is made for a pool's picker.
func nameOf(pool model.ObjectRef) types.NamespacedName {
	return types.NamespacedName{Namespace: pool.Namespace(), Name: model.OwnPickerService(pool).Object.Name()}
}

// ensureRecord returns the record of a pool. mu is held.
func (r *Runner) ensureRecord(ref model.ObjectRef) *record {
	known := r.records[ref]
	if known == nil {
		known = &record{}
		r.records[ref] = known
	}
	return known
}
