package ledgerserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/app/assembly"
	"cardea.dev/cardea/internal/core/certfile"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/webserver"
	"cardea.dev/cardea/internal/ledger/admission"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/compat"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ops/ledgerpreview"
)

// Run serves a ledger until ctx is done. The error says what kept it from starting, or what failed.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.checkOptions(); err != nil {
		return err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	db, err := store.Open(ctx, store.Config{URL: o.URL, KeyFile: o.KeyFile, Log: o.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	metrics := newMetrics()
	workers, err := newWorkers(o, db, metrics)
	if err != nil {
		return err
	}
	api, err := newAPI(o, db, workers, metrics)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveAddress(ctx, o, o.Addr, "--listen", api, o.OnListen) })
	if o.Probes != "" {
		group.Go(func() error {
			return serveAddress(ctx, Options{Log: o.Log}, o.Probes, "--probes", newProbes(db, metrics), nil)
		})
	}
	group.Go(func() error { return db.Run(ctx, store.Retention{}) })
	group.Go(func() error { return workers.runWorkers(ctx) })
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// serverMetrics are the metrics of the server.
type serverMetrics struct {
	*prometheus.Registry
	unknown prometheus.Counter
}

func newMetrics() *serverMetrics {
	m := &serverMetrics{assembly.NewMetrics(), prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cardea_ledger_unknown_callers_total",
		Help: "Requests whose caller was not known: no token, or a wrong one.",
	})}
	m.MustRegister(m.unknown)
	return m
}

// newAPI makes what answers requests: the ledger's own API, and Kontrol's routes.
func newAPI(o Options, db *store.Store, w *workers, m *serverMetrics) (http.Handler, error) {
	callers, err := newCallers(o, db)
	if err != nil {
		return nil, err
	}
	limits := rest.NewLimits(o.Bodies)
	admission := admission.New(admission.Config{Ledger: db, Catalog: o.Catalog, Foreign: limitDryRuns(limits, w.dryRun)})
	previewer := &ledgerpreview.Previewer{Ledger: db, CardeasOf: ledgerpreview.FindCardeas(db, ""), Log: o.Log,
		IsRead: func(k ledger.Key) bool {
			return o.Catalog.FindKind(model.KindOf(k.Group, k.Kind)) != nil
		}}
	own, err := rest.New(rest.Config{
		Ledger: db, Callers: callers, Admit: admission, Preview: previewer, Proposer: previewer,
		Kind: func(word string) (group, kind string, known bool) {
			if k, ok := o.Catalog.FindByName(word); ok {
				return k.Group(), k.Kind.String(), true
			}
			return "", "", false
		},
		Groups: auth.GroupsOf(o.Catalog), Limits: limits,
		Log: o.Log, Version: o.Version, Unknown: m.unknown.Inc,
	})
	if err != nil {
		return nil, err
	}
	seeds := compat.New(compat.Config{
		Ledger: db, Callers: callers, Admit: admission, Limits: limits, Log: o.Log, Unknown: m.unknown.Inc,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if strings.HasPrefix(r.URL.Path, rest.Prefix) {
			own.ServeHTTP(w, r)
			return
		}
		seeds.ServeHTTP(w, r)
	}), nil
}

// objectCheck checks an object by the API servers of a target.
type objectCheck = func(ctx context.Context, target ledger.Target, object map[string]any) error

// limitDryRuns has each caller's objects checked a few at a time.
func limitDryRuns(limits *rest.Limits, check objectCheck) objectCheck {
	return func(ctx context.Context, target ledger.Target, object map[string]any) error {
		end, err := limits.AcquireSlot(ctx, rest.SubjectOf(ctx), rest.DryRuns)
		if err != nil {
			return err
		}
		defer end()
		return check(ctx, target, object)
	}
}

// newCallers makes who knows callers.
func newCallers(o Options, db *store.Store) (*auth.Callers, error) {
	c := auth.Config{Access: db, OIDC: o.OIDC, Groups: auth.GroupsOf(o.Catalog)}
	if o.Kubernetes {
		config, _, err := kubeclient.LoadKubeconfig(o.Kubeconfig, o.Context)
		if err != nil {
			return nil, fmt.Errorf("find the cluster of callers: %w", err)
		}
		reviewer, err := auth.NewKubernetes(config)
		if err != nil {
			return nil, err
		}
		reviewer.Audience, reviewer.Targets, reviewer.Admins = o.Audience, o.KubernetesTargets, o.KubernetesAdmins
		reviewer.Plural = func(group, kind string) string {
			if k := o.Catalog.FindKind(model.KindOf(group, kind)); k != nil {
				return k.Plural
			}
			return ""
		}
		c.Reviewer, c.Authorizer = reviewer, reviewer
	}
	return auth.New(c), nil
}

// newProbes are health, readiness and metrics.
func newProbes(db *store.Store, m *serverMetrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if _, err := db.Head(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// serveAddress answers at an address until ctx is done: with TLS if the options have a certificate.
func serveAddress(ctx context.Context, o Options, address, flag string, handler http.Handler, on func(string)) error {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("the address %s is in use: set another one with %s HOST:PORT", address, flag)
	}
	if err != nil {
		return fmt.Errorf("listen (%s): %w", flag, err)
	}
	server := newServer(ctx, o, handler)
	scheme := "http"
	if o.TLSCert != "" {
		certificate, err := certfile.Open(o.TLSCert, o.TLSKey)
		if err != nil {
			return errors.Join(fmt.Errorf("--tls-cert, --tls-key: %w", err), listener.Close())
		}
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: certificate.Get,
		})
		scheme = "https"
	}
	if flag == "--listen" {
		o.Log.Info("ledger API listens", "address", listener.Addr().String(), "scheme", scheme)
	}
	if on != nil {
		on(listener.Addr().String())
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		// A change that is being made is answered; watches end with ctx.
		wait, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if server.Shutdown(wait) != nil {
			_ = server.Close()
		}
	}()
	if err := server.Serve(listener); ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	<-stopped
	return nil
}

// newServer makes a server of the APIs or of the probes. Its requests end with ctx.
func newServer(ctx context.Context, o Options, handler http.Handler) *http.Server {
	server := webserver.New(o.Log, rest.BodyTime, handler)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	return server
}
