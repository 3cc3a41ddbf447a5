package proxies

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/queue"
)

const (
	workers = 4
	// recheckInterval is after how long the cluster is looked at again where no watch tells of a change.
	recheckInterval = 15 * time.Second
	// requestTimeout is how long the API server may take for an object with files.
	requestTimeout = 30 * time.Second
	// invalidRetryInterval is after how long the API server is asked again about an object that it called invalid: a port
	// that was taken may be free by then.
	invalidRetryInterval = time.Minute
)

// Deployer runs the proxies of Gateways, and the Services that find the pods of XBackends.
type Deployer struct {
	cfg       Config
	finders   podFinders
	metrics   *metrics
	objects   metadata.Interface // own objects except Services, and Gateways and GatewayClasses
	core      rest.Interface     // Services, and what Files reads
	informers [kindsEnd]cache.SharedIndexInformer
	queue     *queue.Queue[model.ObjectRef] // Gateways, GatewayClasses, XBackends and pools
	// secretsForbidden: the API server has said that Secrets may not be listed in the whole cluster. Then those of proxies
	// that read files are not watched; all else is done.
	secretsForbidden atomic.Bool

	mu         sync.Mutex // guards the fields below
	proxies    map[model.ObjectRef]plan.ProxySpec
	selections map[model.ObjectRef]plan.PodSelector
	classes    map[model.ObjectRef]plan.ClassState
	// the owners of the objects by the objects' names: Gateways of the plan, and XBackends
	ownersByName map[types.NamespacedName]model.ObjectRef
	records      map[model.ObjectRef]*record
}

// New makes a Deployer. It does nothing before Run.
func New(cfg Config) (*Deployer, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	own := rest.CopyConfig(cfg.REST)
	own.QPS, own.RateLimiter, own.Timeout = -1, nil, 0 // there are few workers, and failures are retried with backoff
	objects, err := metadata.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	core, err := kubeclient.Group(own, corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{},
		&corev1.Secret{}, &corev1.ConfigMap{})
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	apps, err := kubeclient.Group(own, appsv1.SchemeGroupVersion, &appsv1.Deployment{}, &appsv1.DeploymentList{})
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	d := &Deployer{
		cfg: cfg, finders: findersOf(cfg.Backends), objects: objects, core: core,
		proxies: map[model.ObjectRef]plan.ProxySpec{}, selections: map[model.ObjectRef]plan.PodSelector{},
		classes:      map[model.ObjectRef]plan.ClassState{},
		ownersByName: map[types.NamespacedName]model.ObjectRef{}, records: map[model.ObjectRef]*record{},
	}
	d.queue = queue.New(queue.Config[model.ObjectRef]{
		Do: d.reconcileKey, Workers: workers, Subject: "the objects of a Gateway, XBackend or InferencePool", Log: cfg.Log,
	})
	if d.metrics, err = newMetrics(cfg.Metrics, d); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if err := d.createInformers(apps); err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	return d, nil
}

// Run works until ctx ends. It can be called once. The objects stay when it returns, so proxies keep serving.
func (d *Deployer) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer d.queue.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	synced := make([]cache.InformerSynced, kindsEnd)
	for k, informer := range d.informers {
		synced[k] = func() bool { return informer.HasSynced() || kind(k) == fileSecret && d.secretsForbidden.Load() }
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	planned := make(chan struct{})
	running.Go(func() { d.followPlan(ctx, planned) })
	running.Go(func() { d.followBundle(ctx) })
	select {
	case <-planned:
	case <-ctx.Done():
		return nil
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	d.queue.Run(ctx)
	return nil
}

// followPlan queues what changes in the plan. planned is closed when the first complete plan is known.
func (d *Deployer) followPlan(ctx context.Context, planned chan<- struct{}) {
	proxies, selections, classes := flow.Follow(d.cfg.Proxies), flow.Follow(d.cfg.Selections), flow.Follow(d.cfg.Classes)
	defer proxies.Stop()
	defer selections.Stop()
	defer classes.Stop()
	for range d.cfg.Graph.Watch(ctx) {
		var changed []model.ObjectRef
		d.mu.Lock()
		d.cfg.Graph.View(func(v flow.View) {
			for ch := range proxies.Changes(v) {
				delete(d.ownersByName, types.NamespacedName{Namespace: ch.Key.Namespace(), Name: d.proxies[ch.Key].Name})
				if changed = append(changed, ch.Key); ch.Deleted {
					delete(d.proxies, ch.Key)
					continue
				}
				d.proxies[ch.Key] = ch.Value
				d.ownersByName[types.NamespacedName{Namespace: ch.Key.Namespace(), Name: ch.Value.Name}] = ch.Key
			}
			changed = slices.Concat(changed, applyChanges(selections.Changes(v), d.selections), applyChanges(classes.Changes(v),
				d.classes))
		})
		d.mu.Unlock()
		for _, ref := range changed {
			d.queue.Renew(ref)
		}
		if planned != nil {
			close(planned)
			planned = nil
		}
	}
}

// applyChanges brings a map up to date, and returns the keys with changed values.
func applyChanges[V any](
	changes iter.Seq[flow.Change[model.ObjectRef, V]], into map[model.ObjectRef]V,
) (changed []model.ObjectRef) {
	for ch := range changes {
		if changed = append(changed, ch.Key); ch.Deleted {
			delete(into, ch.Key)
		} else {
			into[ch.Key] = ch.Value
		}
	}
	return changed
}

// followBundle queues all Gateways when there is another CA bundle.
func (d *Deployer) followBundle(ctx context.Context) {
	_, changed := d.cfg.Bundle()
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		_, changed = d.cfg.Bundle() // before anybody reads it, so that every later change is seen
		d.mu.Lock()
		for ref := range d.proxies {
			d.queue.Add(ref)
		}
		d.mu.Unlock()
	}
}

// reconcileKey brings the objects of one Gateway, class, XBackend or pool up to date; again is when to look again.
func (d *Deployer) reconcileKey(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	if ref.Kind() == model.KindGatewayClass {
		return 0, d.reconcileClass(ctx, ref)
	}
	if _, finds := d.finders[ref.Kind()]; finds {
		return d.reconcileSelection(ctx, ref)
	}
	return d.reconcileGateway(ctx, ref)
}
