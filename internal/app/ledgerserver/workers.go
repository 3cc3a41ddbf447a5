package ledgerserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/apply"
	"cardea.dev/cardea/internal/ledger/store"
)

// InCluster, in the place of a kubeconfig, is the cluster that this program runs in.
const InCluster = "in-cluster"

// pollInterval is how often the list of clusters is read.
const pollInterval = 5 * time.Second

// workers applies to the clusters that the ledger has a kubeconfig of: one worker each.
type workers struct {
	options Options
	db      *store.Store
	metrics *apply.Metrics

	running map[string]*runningWorker // by cluster; only in run
}

// runningWorker is the worker of a cluster.
type runningWorker struct {
	of   ledger.Cluster
	stop context.CancelFunc
	done chan struct{}
}

func newWorkers(o Options, db *store.Store, m *serverMetrics) (*workers, error) {
	counts, err := apply.NewMetrics(m.Registry)
	return &workers{options: o, db: db, metrics: counts, running: map[string]*runningWorker{}}, err
}

// runWorkers follows the list of clusters until ctx is done.
func (w *workers) runWorkers(ctx context.Context) error {
	defer w.stopAll()
	if w.options.Worker == "" {
		return nil
	}
	for ctx.Err() == nil {
		clusters, err := w.db.Clusters(ctx)
		if err == nil {
			w.followClusters(ctx, clusters)
		} else if ctx.Err() == nil {
			w.options.Log.Warn("the list of clusters can't be read; workers go on with those that are known", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
		}
	}
	return nil
}

// followClusters starts the workers of new clusters, and ends those of clusters that are gone or are reached otherwise.
func (w *workers) followClusters(ctx context.Context, clusters []ledger.Cluster) {
	wanted := map[string]ledger.Cluster{}
	for _, c := range clusters {
		if c.Kubeconfig != "" {
			wanted[c.Name] = c
		}
	}
	for name, r := range w.running {
		if c, is := wanted[name]; !is || c.Kubeconfig != r.of.Kubeconfig || c.Context != r.of.Context {
			r.stop()
			<-r.done
			delete(w.running, name)
		}
	}
	for name, c := range wanted {
		if w.running[name] == nil {
			w.running[name] = w.startWorker(ctx, c)
		}
	}
}

// startWorker works on a cluster. One that can't be reached is tried again and again, and hinders nobody else.
func (w *workers) startWorker(ctx context.Context, c ledger.Cluster) *runningWorker {
	ctx, stop := context.WithCancel(ctx)
	r := &runningWorker{of: c, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for ctx.Err() == nil {
			err := w.runWorker(ctx, c)
			if ctx.Err() != nil {
				return
			}
			w.options.Log.Error("the worker of a cluster ended; it starts again", "cluster", c.Name, "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(pollInterval):
			}
		}
	}()
	return r
}

func (w *workers) runWorker(ctx context.Context, c ledger.Cluster) error {
	config, err := configOf(c)
	if err != nil {
		return err
	}
	log := w.options.Log.With("cluster", c.Name)
	config.Wrap(kubeclient.NewGuard(kubeclient.LogRestoration(log, w.metrics.RestoreCounter(c.Name).Inc)).Wrap)
	worker, err := apply.New(apply.Config{
		Work: w.db, Targets: w.db.Targets, Changes: w.db, REST: kubeclient.NoRetryConfig(config), Cluster: c.Name,
		Worker: w.options.Worker, Metrics: w.metrics,
		Log: log, Catalog: w.options.Catalog,
		Adopt: func(ctx context.Context, d ledger.Draft) error {
			d.Direct = true // what needs approvals is only told
			_, err := w.db.Commit(ctx, d)
			return err
		},
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}

// configOf is how a cluster is reached.
func configOf(c ledger.Cluster) (*rest.Config, error) {
	if c.Kubeconfig == InCluster {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
		}
		return config, nil
	}
	config, _, err := kubeclient.LoadKubeconfig(c.Kubeconfig, c.Context)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	return config, nil
}

// stopAll ends all workers.
func (w *workers) stopAll() {
	for _, r := range w.running {
		r.stop()
	}
	for _, r := range w.running {
		<-r.done
	}
}

// dryRun checks an object of a kind that Cardea does not read by the API servers of a target's clusters. It is not
// valid if one of them refuses it. Those that can't be reached are left out, but one has to answer.
func (w *workers) dryRun(ctx context.Context, target ledger.Target, object map[string]any) error {
	clusters, err := w.db.Clusters(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var refused, unreachable []error
	answered := 0
	for _, c := range clusters {
		if !target.ServedBy(c) || c.Kubeconfig == "" {
			continue
		}
		group.Go(func() {
			config, err := configOf(c)
			if err == nil {
				err = apply.DryRun(ctx, kubeclient.NoRetryConfig(config), c.Name, object)
			}
			mu.Lock()
			defer mu.Unlock()
			switch ledger.CodeOf(err) {
			case "":
				if err != nil {
					unreachable = append(unreachable, err)
					return
				}
				answered++
			default:
				refused = append(refused, err)
			}
		})
	}
	group.Wait()
	switch {
	case len(refused) > 0:
		return refused[0]
	case answered > 0:
		return nil
	}
	kind, _ := object["kind"].(string)
	return &ledger.Error{Code: ledger.Unavailable, Object: kind, Cause: errors.Join(unreachable...),
		Message: "only an API server can check objects of this kind, and none of target " + target.Name + " answers",
		Fix:     "register a cluster with its kubeconfig, or try again when one can be reached"}
}
