package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// TestAPIServerAway: what was read stays while the API server is away, and what happens after it is back arrives,
// deletions included.
func TestAPIServerAway(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	p.apply(tlsSecret("cert", "one"))
	p.apply(secureGateway("cert"))
	registry := prometheus.NewRegistry()
	r := p.read(func(c *Config) { c.Metrics = registry }).synced()
	s, secret := r.sources, p.ref(model.KindSecret, "cert")
	await(r, s.Secrets, secret, anyway)
	route := follows(r, s.HTTPRoutes, p.ref(model.KindHTTPRoute, "shop"))
	gateway := follows(r, s.Gateways, p.ref(model.KindGateway, "web"))
	for _, fault := range []struct {
		name, extra string
		do          func()
	}{
		{"stopped", "extra-1", func() {
			p.StopAPIServer()
			eventually(t, func() error { // everyone has noticed
				for _, k := range r.edge.State().Kinds {
					if catalog.FindKind(k.Kind).ReadScope != kind.OnDemand && k.Err == "" {
						return fmt.Errorf("%s is still read", k.Kind)
					}
				}
				return nil
			})
			if err := p.StartAPIServer(context.Background()); err != nil {
				t.Fatal(err)
			}
		}},
		{"restarted", "extra-2", func() {
			p.StopAPIServer()
			if err := p.StartAPIServer(context.Background()); err != nil {
				t.Fatal(err)
			}
		}},
		{"without etcd", "extra-3", func() {
			if err := p.RestartEtcd(context.Background()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			key := "after " + fault.name
			extra := p.ref(model.KindHTTPRoute, fault.extra)
			p.apply(extraRoute(fault.extra))
			await(r, s.HTTPRoutes, extra, anyway)
			fault.do()
			if list := route.changes(); len(list) > 0 {
				t.Errorf("the route was touched: %+v", list)
			}
			if list := gateway.changes(); len(list) > 0 {
				t.Errorf("the Gateway was touched: %+v", list)
			}
			// At once, before the watches are back.
			p.delete("/apis/gateway.networking.k8s.io/v1/namespaces/%s/httproutes/" + fault.extra)
			p.apply(tlsSecret("cert", key))
			awaitGone(r, s.HTTPRoutes, extra)
			await(r, s.Secrets, secret, keyIs(key))
			eventually(t, func() error {
				for _, k := range r.edge.State().Kinds {
					if k.Err != "" || k.Missing != "" {
						return fmt.Errorf("state %+v", k)
					}
				}
				return nil
			})
			if list := route.changes(); len(list) > 0 {
				t.Errorf("the route was touched: %+v", list)
			}
			if !r.edge.State().Synced {
				t.Error("not synced any more")
			}
		})
	}
	if list := gateway.changes(); len(list) > 0 {
		t.Errorf("the Gateway was touched: %+v", list)
	}
	r.wantLogged("install the Gateway API", 0)
	values := metricsOf(t, registry, "HTTPRoute")
	for _, name := range []string{"cardea_kube_objects", "cardea_kube_lists_total", "cardea_kube_request_errors_total"} {
		if values[name] < 1 {
			t.Errorf("%s of HTTPRoutes is %v", name, values[name])
		}
	}
}

// metricsOf are the values of the metrics of a kind, by name.
func metricsOf(t *testing.T, registry *prometheus.Registry, kind string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if m.Label[0].GetValue() == kind {
				values[f.GetName()] = m.Gauge.GetValue() + m.Counter.GetValue()
			}
		}
	}
	return values
}

// TestStartWithoutAPIServer: reading begins when there is something to read from. That ends the outage, also if a kind
// is not installed; the next one is said, too.
func TestStartWithoutAPIServer(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	t.Cleanup(p.install)
	p.uninstall("xbackends.gateway.networking.x-k8s.io")
	p.StopAPIServer()
	start := func() {
		if err := p.StartAPIServer(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	r := p.read()
	eventually(t, func() error {
		if k := r.kind(model.KindService); k.Err == "" {
			return fmt.Errorf("state %+v", k)
		}
		return nil
	})
	if s := r.edge.State(); s.Synced {
		t.Errorf("synced without an API server: %+v", s)
	}
	r.wantLogged("API server can't be read", 1)
	start()
	r.synced()
	await(r, r.sources.HTTPRoutes, p.ref(model.KindHTTPRoute, "shop"), anyway)
	over := func(times int) {
		t.Helper()
		eventually(t, func() error {
			for _, k := range r.edge.State().Kinds {
				if k.Err != "" || !k.Since.IsZero() {
					return fmt.Errorf("state %+v", k)
				}
			}
			return nil
		})
		r.wantLogged("API server can't be read", times)
		r.wantLogged("API server is read again", times)
	}
	over(1)
	p.StopAPIServer()
	eventually(t, func() error {
		if k := r.kind(model.KindService); k.Err == "" {
			return fmt.Errorf("state %+v", k)
		}
		return nil
	})
	start()
	over(2)
}

// TestEndWithoutAPIServer: it can be ended while it waits to ask again.
func TestEndWithoutAPIServer(t *testing.T) {
	p := newPlace(t)
	r := p.read().synced()
	p.StopAPIServer()
	eventually(t, func() error {
		if k := r.kind(model.KindService); k.Err == "" {
			return fmt.Errorf("state %+v", k)
		}
		return nil
	})
	err := r.end()
	if again := p.StartAPIServer(context.Background()); again != nil {
		t.Fatal(again)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// extraRoute is one more route of the place.
func extraRoute(name string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: "` + name + `", namespace: "%s"}
spec: {parentRefs: [{name: web}]}
`
}

// TestHungUp: a load balancer whose API server is away takes connections and closes them. The client library makes a
// watch of that which ends at once; it is a request that failed.
func TestHungUp(t *testing.T) {
	balancer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer balancer.Close()
	go func() {
		for {
			conn, err := balancer.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	clients, err := newClients(&rest.Config{Host: "http://" + balancer.Addr().String()}, catalog)
	if err != nil {
		t.Fatal(err)
	}
	var failures []error
	services := catalog.FindKind(model.KindService)
	watcher := listWatch(clients.kindReader(services, services.GroupVersion(0)),
		func(err error) { failures = append(failures, err) }, func() { t.Error("a request was answered") })
	w, err := watcher.(*cache.ListWatch).WatchWithContext(context.Background(), metav1.ListOptions{})
	if err == nil { // else net/http had a name for it
		if _, more := <-w.ResultChan(); more {
			t.Error("there is an event")
		}
		err = errHungUp
	}
	if len(failures) != 1 || !errors.Is(failures[0], err) {
		t.Errorf("failures: %v, want %v", failures, err)
	}
}

// TestRetryAfter: an API server that ends or is busy says when to ask again. That is an answer to be told at once, not
// to sleep on.
func TestRetryAfter(t *testing.T) {
	var asked atomic.Int32
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	config := &rest.Config{Host: busy.URL}
	clients, err := newClients(config, catalog)
	if err != nil {
		t.Fatal(err)
	}
	services := catalog.FindKind(model.KindService)
	for name, ask := range map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, err := clients.kindReader(services, services.GroupVersion(0)).List(ctx, metav1.ListOptions{})
			return err
		},
		"watch": func(ctx context.Context) error {
			_, err := clients.kindReader(services, services.GroupVersion(0)).Watch(ctx, metav1.ListOptions{})
			return err
		},
	} {
		asked.Store(0)
		if err := ask(t.Context()); err == nil || asked.Load() != 1 {
			t.Errorf("%s: asked %d times: %v", name, asked.Load(), err)
		}
	}
}

// TestOutageIsSaidOnce: an API server that has started and is not ready for a kind yet does not begin another outage,
// unless it stays so.
func TestOutageIsSaidOnce(t *testing.T) {
	var log strings.Builder
	now := time.Unix(1000, 0)
	o := newOutage(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	notReady, refused := apierrors.NewServiceUnavailable("not ready"), errors.New("connection refused")
	said := func(began, ended int) {
		t.Helper()
		if b, e := strings.Count(log.String(), "can't be read"), strings.Count(log.String(), "is read again"); b != began ||
			e != ended {
			t.Errorf("said %d times that it began, %d times that it ended, want %d and %d:\n%s", b, e, began, ended,
				log.String())
		}
	}
	o.noteFailure(model.KindService, notReady) // whatever it says, it is the first
	said(1, 0)
	o.noteAnswer(model.KindService, nil)
	said(1, 1)
	for _, err := range []error{notReady, apierrors.NewTooManyRequests("storage is (re)initializing", 1)} {
		o.noteFailure(model.KindGateway, err)
		o.noteAnswer(model.KindGateway, nil)
		said(1, 1)
	}
	o.noteFailure(model.KindGateway, notReady)
	now = now.Add(refusalTimeout)
	o.noteFailure(model.KindGateway, notReady)
	said(2, 1)
	o.noteAnswer(model.KindGateway, nil)
	o.noteFailure(model.KindService, refused)
	said(3, 2)
}
