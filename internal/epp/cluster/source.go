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
	pools = schema.GroupVersionResource{
		Group: "inference.networking.k8s.io", Version: "v1", Resource: "inferencepools",
	}
	objectives = schema.GroupVersionResource{
		Group: "inference.networking.x-k8s.io", Version: "v1alpha2", Resource: "inferenceobjectives",
	}
	rewrites = schema.GroupVersionResource{
		Group: "inference.networking.x-k8s.io", Version: "v1alpha2", Resource: "inferencemodelrewrites",
	}
	podsOfAll = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
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
	config.Wrap(kubeclient.New(kubeclient.Tell(s.Log, func() {})).Wrap)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	changed := make(chan struct{}, 1)
	w := &watch{Source: s, client: client, changed: changed}
	defer w.stopPods()
	byName := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Name).String()
	}
	if w.pool, err = w.inform(ctx, pools, byName); err != nil {
		return err
	}
	// Those may not be installed. Then requests have the priorities of their numbers, and the models that they ask for; so
	// they do until they can be read.
	if w.objectives, err = w.inform(ctx, objectives, nil); err != nil {
		return err
	}
	if w.rewrites, err = w.inform(ctx, rewrites, nil); err != nil {
		return err
	}
	var told *members.Pool
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		next, known, err := w.compute(ctx)
		switch {
		case err != nil:
			return err
		case known && (told == nil || !reflect.DeepEqual(*told, next)):
			told = &next
			tell(next)
		}
	}
}

// watch is one run of a Source. Its goroutine uses it.
type watch struct {
	Source
	client     dynamic.Interface
	changed    chan struct{}
	pool       *objectsOf
	objectives *objectsOf
	rewrites   *objectsOf

	pods     *objectsOf // of selector; nil: none is selected
	selector string
	stop     context.CancelFunc
}

// objectsOf are the objects of one resource, as the API server shows them.
type objectsOf struct {
	cache.SharedIndexInformer
	absent atomic.Bool // reading them has failed: there may be no such resource, or no permission to read it
}

// known reports whether the objects were read, or reading them has failed: they are then read later, or never.
func (o *objectsOf) known() bool { return o.HasSynced() || o.absent.Load() }

func (o *objectsOf) list() (list []*unstructured.Unstructured) {
	for _, object := range o.GetStore().List() {
		if u, ok := object.(*unstructured.Unstructured); ok {
			list = append(list, u)
		}
	}
	return list
}

// compute is the pool as it is; known is false if it was not read yet.
func (w *watch) compute(ctx context.Context) (p members.Pool, known bool, err error) {
	if !w.pool.HasSynced() || !w.objectives.known() || !w.rewrites.known() {
		return p, false, nil
	}
	var pool *unstructured.Unstructured
	for _, o := range w.pool.list() {
		pool = o
	}
	p = members.Pool{
		Members: endpoints(nil, nil), Objectives: priorities(w.Name, w.objectives.list()),
		Rewrites: rewritesOf(w.Name, w.rewrites.list()),
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
		w.pods, err = w.inform(within, podsOfAll, func(o *metav1.ListOptions) { o.LabelSelector = selector.String() })
		if err != nil {
			return p, false, err
		}
	}
	if !w.pods.HasSynced() {
		return p, false, nil
	}
	var pods []*corev1.Pod
	for _, u := range w.pods.list() {
		pod := &corev1.Pod{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, pod) == nil {
			pods = append(pods, pod)
		}
	}
	p.Members = endpoints(pool, pods)
	return p, true, nil
}

func (w *watch) stopPods() {
	if w.stop != nil {
		w.stop()
	}
	w.pods, w.stop = nil, nil
}

// inform follows the objects of a resource in the namespace. Each change, and the end of the first list, is told to
// changed.
func (w *watch) inform(
	ctx context.Context, of schema.GroupVersionResource, narrow func(*metav1.ListOptions),
) (*objectsOf, error) {
	if narrow == nil {
		narrow = func(*metav1.ListOptions) {}
	}
	resource := w.client.Resource(of).Namespace(w.Namespace)
	informer := &objectsOf{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{
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
		informer.absent.Store(true)
		notify()
	})
	if err == nil {
		err = informer.SetTransform(trim)
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

// trim drops what nobody reads: of 10,000 pods that is most of the memory.
func trim(o any) (any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
		if u.GetKind() == "Pod" {
			delete(u.Object, "spec")
			u.SetAnnotations(nil)
		}
	}
	return o, nil
}
