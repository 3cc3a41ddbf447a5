package kube

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/model"
)

// TestStoreRestored: the API server's store is restored to an older state. What is served is that state, for kinds that
// are read as a whole, by their metadata, and one by one; and what changes afterwards arrives, before the versions are
// what they were. So it is for informers of the client library. It is told once.
func TestStoreRestored(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	p.apply(tlsSecret("cert", "old"))
	p.apply(secureGateway("cert"))
	p.apply(extraRoute("deleted"))
	var told atomic.Int32
	guard := kubeclient.NewGuard(func(r kubeclient.Restoration) {
		told.Add(1)
		if r.Now >= r.Seen {
			t.Errorf("told %+v", r)
		}
	})
	config := rest.CopyConfig(p.Config)
	config.Wrap(guard.Wrap)
	r := p.read(func(c *Config) { c.REST = config }).synced()
	names := p.namesBy(config)
	s, secret := r.sources, p.ref(model.KindSecret, "cert")
	deleted, created := p.ref(model.KindHTTPRoute, "deleted"), p.ref(model.KindHTTPRoute, "created")
	await(r, s.Secrets, secret, keyIs("old"))
	await(r, s.HTTPRoutes, deleted, anyway)
	if err := p.SaveStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 30 { // so that the numbers do not catch up
		p.put(fmt.Sprint("other-", i))
	}
	p.delete("/apis/gateway.networking.k8s.io/v1/namespaces/%s/httproutes/deleted")
	p.apply(extraRoute("created"))
	p.apply(tlsSecret("cert", "new"))
	awaitGone(r, s.HTTPRoutes, deleted)
	await(r, s.HTTPRoutes, created, anyway)
	await(r, s.Secrets, secret, keyIs("new"))
	eventually(t, func() error { return names("other-29", true) })

	if err := p.RestoreStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(r, s.HTTPRoutes, deleted, anyway)
	awaitGone(r, s.HTTPRoutes, created)
	await(r, s.Secrets, secret, keyIs("old"))
	eventually(t, func() error { return names("other-29", false) })
	p.apply(tlsSecret("cert", "newest"))
	p.put("later")
	await(r, s.Secrets, secret, keyIs("newest"))
	eventually(t, func() error { return names("later", true) })
	if n := told.Load(); n != 1 {
		t.Errorf("told %d times", n)
	}
}

func (p *place) put(name string) {
	p.t.Helper()
	_, err := p.Client.CoreV1().ConfigMaps(p.namespace).Create(context.Background(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

// namesBy says whether an informer knows a ConfigMap, or does not.
func (p *place) namesBy(config *rest.Config) func(name string, known bool) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		p.t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(p.namespace))
	maps := factory.Core().V1().ConfigMaps()
	maps.Informer()
	ctx, stop := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	p.t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
	return func(name string, known bool) error {
		if _, err := maps.Lister().ConfigMaps(p.namespace).Get(name); (err == nil) != known {
			return fmt.Errorf("%s: %v", name, err)
		}
		return nil
	}
}

// TestGuardedWatches: watches that begin again and again while much is written are never ended, since no store is older
// than what it has told; and who may watch, but not list, watches as without a guard.
func TestGuardedWatches(t *testing.T) {
	p := newPlace(t)
	guarded := func() *rest.Config {
		config := rest.CopyConfig(p.Config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return late{next} })
		config.Wrap(kubeclient.NewGuard(func(r kubeclient.Restoration) { t.Errorf("told %+v", r) }).Wrap)
		return config
	}
	p.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watches, namespace: "%s"}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watches, namespace: "%s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watches}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: watcher}]
`)
	config, onlyWatches := guarded(), guarded()
	onlyWatches.Impersonate.UserName = "watcher"
	done, stop := context.WithCancel(t.Context())
	var watching, writing sync.WaitGroup
	for i, config := range []*rest.Config{config, config, config, onlyWatches} {
		watching.Go(func() { p.watchAgain(config) })
		writing.Go(func() {
			for n := 0; done.Err() == nil; n++ {
				p.put(fmt.Sprint("written-", i, "-", n))
			}
		})
	}
	watching.Wait()
	stop()
	writing.Wait()
}

// late answers lists of one object late: the store goes on meanwhile, and watches begin.
type late struct{ http.RoundTripper }

func (l late) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if request.URL.Query().Get("limit") == "1" {
		time.Sleep(10 * time.Millisecond)
	}
	return response, err
}

// watchAgain watches 30 times from the newest version on, each time until something happens.
func (p *place) watchAgain(config *rest.Config) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		p.t.Error(err)
		return
	}
	for range 30 {
		list, err := p.Client.CoreV1().ConfigMaps(p.namespace).List(p.t.Context(), metav1.ListOptions{Limit: 2})
		if err != nil {
			p.t.Error(err)
			return
		}
		from := metav1.ListOptions{ResourceVersion: list.ResourceVersion}
		w, err := client.CoreV1().ConfigMaps(p.namespace).Watch(p.t.Context(), from)
		if err != nil {
			p.t.Errorf("watch from %s: %v", list.ResourceVersion, err)
			return
		}
		if event := <-w.ResultChan(); event.Type != watch.Added {
			p.t.Errorf("%+v", event)
		}
		w.Stop()
	}
}
