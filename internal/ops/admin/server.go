package admin

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/webserver"
)

// DefaultAddr is the address where the API listens by default, and where `cardea get` asks.
const DefaultAddr = "127.0.0.1:9900"

// Objects are the objects that the API shows. A message is a complete Kubernetes object: apiVersion, kind, metadata,
// spec and status. It may have the contents of a Secret; they are not shown. Its methods are called by many goroutines.
type Objects interface {
	// Count is the number of objects of a kind in all namespaces.
	Count(kind model.Kind) (int, error)
	// List returns the objects of a kind in a namespace, or in all namespaces if it is "", sorted by namespace and name.
	List(kind model.Kind, namespace string) ([]json.RawMessage, error)
	Get(ref model.ObjectRef) (object json.RawMessage, found bool, err error)
}

// Finding is a problem that the user should know of.
type Finding struct {
	Severity  string `json:"severity"` // "error", "warning" or "info"
	Object    string `json:"object,omitempty"`
	Where     string `json:"where,omitempty"` // file and line
	Field     string `json:"field,omitempty"`
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message"`
}

// FindingOf shows a finding about an object. Where it stands is for those to say who have files.
func FindingOf(f model.Finding) Finding {
	return Finding{
		Severity: f.Severity.String(), Object: f.Object.String(), Field: f.Field, Condition: f.Condition, Reason: f.Reason,
		Message: f.Message,
	}
}

// Config is what a Server shows. All fields except Probes, Proxy, Picker, Log and OnListen must be set.
type Config struct {
	Addr     string // host:port to listen on
	Access   Access // who may ask at Addr
	Probes   string // host:port of a second address with health, readiness and metrics only, for all; "" for none
	Graph    *flow.Graph
	Catalog  *kind.Catalog // of the Objects
	Objects  Objects
	Ready    func() (ready bool, said string) // what is missing or, if it is ready, what is closed
	Gatherer prometheus.Gatherer
	// Proxy asks a Gateway's proxy for its metrics, as text for Prometheus; false if there is none. nil: no proxy is near.
	Proxy func(ctx context.Context, gateway model.ObjectRef) (text []byte, found bool, err error)
	// Picker does the same with the picker that is run for an InferencePool.
	Picker   func(ctx context.Context, pool model.ObjectRef) (text []byte, found bool, err error)
	Findings func() []Finding
	Explainer
	Differ
	Log      *slog.Logger
	OnListen func(addr string) // Run calls it when the server listens
}

// Server is the API.
type Server struct {
	config         Config
	mux            *http.ServeMux
	probes         *http.ServeMux
	diffLimiter    limiter // one at a time: a diff may take long
	explainLimiter limiter
}

// limiter limits the number of questions that are answered at a time. Others wait.
type limiter chan struct{}

// acquireSlot waits for a place; leave is nil if the client has gone.
func (r limiter) acquireSlot(ctx context.Context) (leave func()) {
	select {
	case r <- struct{}{}:
		return func() { <-r }
	case <-ctx.Done():
		return nil
	}
}

// New makes a Server; Run listens.
func New(c Config) (*Server, error) {
	if c.Addr == "" || c.Graph == nil || c.Objects == nil || c.Ready == nil || c.Gatherer == nil || c.Findings == nil ||
		c.Explainer == nil || c.Differ == nil {
		return nil, errors.New("admin: Addr, Graph, Objects, Ready, Gatherer, Findings, Explainer and Differ must be set")
	}
	if err := c.Access.Check(c.Addr); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: c, mux: http.NewServeMux(), probes: http.NewServeMux(), diffLimiter: make(limiter, 1),
		explainLimiter: make(limiter, 2)}
	for mux, see := range map[*http.ServeMux]string{s.mux: "/ lists the pages",
		s.probes: "this address has /healthz, /readyz and /metrics"} {
		mux.HandleFunc("/healthz", s.answerHealthz)
		mux.HandleFunc("/readyz", s.answerReadyz)
		mux.Handle("/metrics", promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{}))
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			writeFailure(w, http.StatusNotFound, "no such page: "+see)
		})
	}
	for _, p := range s.listEndpoints() {
		s.mux.HandleFunc(p.path, p.handler)
	}
	return s, nil
}

// endpoint is a path, as http.ServeMux has it, and what answers it.
type endpoint struct {
	path    string
	handler http.HandlerFunc
}

// listEndpoints is all pages besides those that are for probes, too.
func (s *Server) listEndpoints() []endpoint {
	return []endpoint{
		{"/{$}", s.answerIndex},
		{"/objects", s.answerKinds},
		{"/objects/{kind}", s.listObjects},
		{"/objects/{kind}/{name}", s.listOrGet},
		{"/objects/{kind}/{namespace}/{name}", s.getNamespaced},
		{"/findings", s.answerFindings},
		{"/proxies/{namespace}/{name}/metrics", childMetrics(s.config.Proxy, model.KindGateway, "proxy")},
		{"/pickers/{namespace}/{name}/metrics", childMetrics(s.config.Picker, model.KindInferencePool, "picker")},
		{"/diff", s.answerDiff},
		{"/explain", s.explainRequest},
		{"/access/{namespace}/{name}", s.answerAccess},
		{"/explain/{kind}/{name}", s.explainObject},
		{"/explain/{kind}/{namespace}/{name}", s.explainObject},
		{"/debug/flow", s.flowStats},
		{"/debug/flow/turns", s.flowTurns},
		{"/debug/flow/{collection...}", s.flowCollection},
		{"/debug/pprof/", pprof.Index}, // without cmdline: a ledger's URL may have a password
		{"/debug/pprof/profile", pprof.Profile},
		{"/debug/pprof/symbol", pprof.Symbol},
		{"/debug/pprof/trace", pprof.Trace},
	}
}

// ListPaths are the paths of all pages, as patterns of http.ServeMux.
func ListPaths() []string {
	paths := []string{"/healthz", "/readyz", "/metrics"}
	for _, p := range new(Server).listEndpoints() {
		paths = append(paths, p.path)
	}
	return paths
}

// Run listens and answers until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	listener, err := listenAt(s.config.Addr, "admin API's", "--admin")
	if err != nil {
		return err
	}
	secure, err := s.config.Access.configFor(listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	if s.config.Probes != "" {
		probes, err := listenAt(s.config.Probes, "probes'", "--probes")
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		group.Go(func() error { return s.serveUntilDone(ctx, probes, nil, s.probes) })
	}
	s.config.Log.Info("admin API listens", "address", listener.Addr().String())
	if s.config.OnListen != nil {
		s.config.OnListen(listener.Addr().String())
	}
	guarded := withGuard(listener.Addr(), s.config.Access, s.config.Log, s.mux)
	group.Go(func() error { return s.serveUntilDone(ctx, listener, secure, guarded) })
	return group.Wait()
}

func listenAt(address, whose, flag string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the %s address %s is in use, perhaps by another Cardea: set another one with %s HOST:PORT",
			whose, address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on the %s address (%s): %w", whose, flag, err)
	}
	return listener, nil
}

func (s *Server) serveUntilDone(
	ctx context.Context, listener net.Listener, secure *tls.Config, handler http.Handler,
) error {
	server := newServer(s.config.Log, handler)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		// All answers can be asked for again, so open requests are cut off.
		_ = server.Close()
	}()
	serve := server.Serve
	if server.TLSConfig = secure; secure != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	if err := serve(listener); ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	<-stopped
	return nil
}

// newServer makes a server of the API or of the probes.
func newServer(log *slog.Logger, handler http.Handler) *http.Server {
	server := webserver.New(log, editTimeout, handler)
	server.WriteTimeout = 2 * time.Minute // a profile takes long
	return server
}
