package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/epp/members"
)

var (
	poolResource = schema.GroupVersionResource{
		Group: "inference.networking.k8s.io", Version: "v1", Resource: "inferencepools",
	}
	objectiveResource = schema.GroupVersionResource{
		Group: "inference.networking.x-k8s.io", Version: "v1alpha2", Resource: "inferenceobjectives",
	}
	rewriteResource = schema.GroupVersionResource{
		Group: "inference.networking.x-k8s.io", Version: "v1alpha2", Resource: "inferencemodelrewrites",
	}
	podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// Source is an InferencePool of a cluster.
type Source struct {
	Config          *rest.Config
	Namespace, Name string
	Log             *slog.Logger // nil discards
}

// Connect is the cluster that kubectl would ask, or that the program's pod is in. namespace is that of the context.
func Connect(kubeconfig, kubeContext string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("find the cluster: %w", err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("find the namespace: %w", err)
	}
	return config, namespace, nil
}

// Run tells the pool when it and its pods were read, and again whenever that changes, until ctx ends. A pool that does
// not exist has no members. Outages of the API server change nothing: what was told last stays.
func (s Source) Run(ctx context.Context, tell func(members.Pool)) error {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	config := rest.CopyConfig(s.Config)
	config.Wrap(kubeclient.NewGuard(kubeclient.LogRestoration(s.Log, func() {})).Wrap)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	changed := make(chan struct{}, 1)
	w := &poolWatcher{Source: s, client: client, changed: changed}
	defer w.stopPods()
	byName := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Name).String()
	}
	if w.pool, err = w.startInformer(ctx, poolResource, byName); err != nil {
		return err
	}
	// Those may not be installed. Then requests have the priorities of their numbers, and the models that they ask for; so
	// they do until they can be read.
	if w.objectives, err = w.startInformer(ctx, objectiveResource, nil); err != nil {
		return err
	}
	if w.rewrites, err = w.startInformer(ctx, rewriteResource, nil); err != nil {
		return err
	}
	var told *members.Pool
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		next, known, err := w.computePool(ctx)
		switch {
		case err != nil:
			return err
		case known && (told == nil || !reflect.DeepEqual(*told, next)):
			told = &next
			tell(next)
		}
	}
}

// poolWatcher is one run of a Source. Its goroutine uses it.
type poolWatcher struct {
	Source
	client     dynamic.Interface
	changed    chan struct{}
	pool       *objectInformer
	objectives *objectInformer
	rewrites   *objectInformer

	pods     *objectInformer // of selector; nil: none is selected
	selector string
	stop     context.CancelFunc
}

// objectInformer are the objects of one resource, as the API server shows them.
type objectInformer struct {
	cache.SharedIndexInformer
	unavailable atomic.Bool // reading them has failed: there may be no such resource, or no permission to read it
}

// isKnown reports whether the objects were read, or reading them has failed: they are then read later, or never.
func (o *objectInformer) isKnown() bool { return o.HasSynced() || o.unavailable.Load() }

func (o *objectInformer) listObjects() (list []*unstructured.Unstructured) {
	for _, object := range o.GetStore().List() {
		if u, ok := object.(*unstructured.Unstructured); ok {
			list = append(list, u)
		}
	}
	return list
}

// computePool is the pool as it is; known is false if it was not read yet.
func (w *poolWatcher) computePool(ctx context.Context) (p members.Pool, known bool, err error) {
	if !w.pool.HasSynced() || !w.objectives.isKnown() || !w.rewrites.isKnown() {
		return p, false, nil
	}
	var pool *unstructured.Unstructured
	for _, o := range w.pool.listObjects() {
		pool = o
	}
	p = members.Pool{
		Members: readyEndpoints(nil, nil), Objectives: objectivePriorities(w.Name, w.objectives.listObjects()),
		Rewrites: rewritesOf(w.Name, w.rewrites.listObjects()),
	}
	selector, selects := selectorOf(pool)
	if !selects {
		w.stopPods()
		return p, true, nil
	}
	if w.pods == nil || selector.String() != w.selector {
		w.stopPods()
		within, cancel := context.WithCancel(ctx)
		w.stop, w.selector = cancel, selector.String()
		w.pods, err = w.startInformer(within, podResource,
			func(o *metav1.ListOptions) { o.LabelSelector = selector.String() })
		if err != nil {
			return p, false, err
		}
	}
	if !w.pods.HasSynced() {
		return p, false, nil
	}
	var pods []*corev1.Pod
	for _, u := range w.pods.listObjects() {
		pod := &corev1.Pod{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, pod) == nil {
			pods = append(pods, pod)
		}
	}
	p.Members = readyEndpoints(pool, pods)
	return p, true, nil
}

func (w *poolWatcher) stopPods() {
	if w.stop != nil {
		w.stop()
	}
	w.pods, w.stop = nil, nil
}

// startInformer follows the objects of a resource in the namespace. Each change, and the end of the first list, is told
// to changed.
func (w *poolWatcher) startInformer(
	ctx context.Context, of schema.GroupVersionResource, narrow func(*metav1.ListOptions),
) (*objectInformer, error) {
	if narrow == nil {
		narrow = func(*metav1.ListOptions) {}
	}
	resource := w.client.Resource(of).Namespace(w.Namespace)
	informer := &objectInformer{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			narrow(&o)
			return resource.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			narrow(&o)
			return resource.Watch(ctx, o)
		},
	}, &unstructured.Unstructured{}, 0, cache.Indexers{})}
	log := w.Log.With("resource", of.Resource)
	notify := func() {
		select {
		case w.changed <- struct{}{}:
		default: // a change is to be computed already
		}
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		log.Debug("reading the cluster failed; retrying", "error", err)
		informer.unavailable.Store(true)
		notify()
	})
	if err == nil {
		err = informer.SetTransform(trimObject)
	}
	if err == nil {
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { notify() }, UpdateFunc: func(_, _ any) { notify() }, DeleteFunc: func(any) { notify() },
		})
	}
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", of.Resource, err)
	}
	go informer.RunWithContext(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			notify() // also if there is no object
		}
	}()
	return informer, nil
}

// trimObject drops what nobody reads: of 10,000 pods that is most of the memory.
func trimObject(o any) (any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
		if u.GetKind() == "Pod" {
			delete(u.Object, "spec")
			u.SetAnnotations(nil)
		}
	}
	return o, nil
}
