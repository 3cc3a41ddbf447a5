package admin

import (
	"context"
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

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/kind"
	"cardea.dev/cardea/internal/model"
)

// DefaultAddr is where the API listens unless told otherwise, and where `cardea get` asks.
const DefaultAddr = "127.0.0.1:9900"

// Objects are what the API shows. A message is a complete Kubernetes object: apiVersion, kind, metadata, spec and
// status; what a Secret holds may be in it, and is not shown. Its methods are called by many goroutines.
type Objects interface {
	// Count is how many objects of a kind there are in all namespaces.
	Count(kind model.Kind) (int, error)
	// List returns the objects of a kind in a namespace, or in all if it is "", by namespace and name.
	List(kind model.Kind, namespace string) ([]json.RawMessage, error)
	Get(ref model.ObjectRef) (object json.RawMessage, found bool, err error)
}

// Finding is something that the user should be told.
type Finding struct {
	Severity  string `json:"severity"` // "error", "warning" or "info"
	Object    string `json:"object,omitempty"`
	Where     string `json:"where,omitempty"` // file and line
	Field     string `json:"field,omitempty"`
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message"`
}

// Config is what a Server shows. All but Probes, Log and OnListen must be set.
type Config struct {
	Addr     string // host:port to listen on
	Probes   string // host:port where health, readiness and metrics are answered, too, and nothing else; "" is nowhere
	Graph    *flow.Graph
	Catalog  *kind.Catalog // of the Objects
	Objects  Objects
	Ready    func() (ready bool, reason string) // reason says what it waits for
	Gatherer prometheus.Gatherer
	Findings func() []Finding
	Explainer
	Differ
	Log      *slog.Logger
	OnListen func(addr string) // called by Run when it can be asked
}

// Server is the API.
type Server struct {
	config   Config
	mux      *http.ServeMux
	probes   *http.ServeMux
	differs  room // one question may be long
	explains room
}

// room is for so many questions at a time. Others wait.
type room chan struct{}

// enter waits for room; leave is nil if whoever asks has gone.
func (r room) enter(ctx context.Context) (leave func()) {
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
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: c, mux: http.NewServeMux(), probes: http.NewServeMux(), differs: make(room, 1),
		explains: make(room, 2)}
	for mux, see := range map[*http.ServeMux]string{s.mux: "/ lists those that are",
		s.probes: "here are /healthz, /readyz and /metrics"} {
		mux.HandleFunc("/healthz", s.healthz)
		mux.HandleFunc("/readyz", s.readyz)
		mux.Handle("/metrics", promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{}))
		mux.HandleFunc("/", func(w http.ResponseWriter,
			r *http.Request) {
			fail(w, http.StatusNotFound, "no such page: "+see)
		})
	}
	s.mux.HandleFunc("/{$}", s.index)
	s.mux.HandleFunc("/objects", s.kinds)
	s.mux.HandleFunc("/objects/{kind}", s.list)
	s.mux.HandleFunc("/objects/{kind}/{name}", s.listOrGet)
	s.mux.HandleFunc("/objects/{kind}/{namespace}/{name}", s.get)
	s.mux.HandleFunc("/findings", s.findings)
	s.mux.HandleFunc("/diff", s.diff)
	s.mux.HandleFunc("/explain", s.explainRequest)
	s.mux.HandleFunc("/explain/{kind}/{name}", s.explainObject)
	s.mux.HandleFunc("/explain/{kind}/{namespace}/{name}", s.explainObject)
	s.mux.HandleFunc("/debug/flow", s.flowStats)
	s.mux.HandleFunc("/debug/flow/turns", s.flowTurns)
	s.mux.HandleFunc("/debug/flow/{collection...}", s.flowCollection)
	s.mux.HandleFunc("/debug/pprof/", pprof.Index)
	s.mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	s.mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	s.mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	s.mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return s, nil
}

// Run listens and answers until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	listener, err := listen(s.config.Addr, "admin API's", "--admin")
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if s.config.Probes != "" {
		probes, err := listen(s.config.Probes, "probes'", "--probes")
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		group.Go(func() error { return s.serve(ctx, probes, s.probes) })
	}
	s.config.Log.Info("admin API listens", "address", listener.Addr().String())
	if s.config.OnListen != nil {
		s.config.OnListen(listener.Addr().String())
	}
	group.Go(func() error { return s.serve(ctx, listener, guard(listener.Addr(), s.mux)) })
	return group.Wait()
}

func listen(address, whose, flag string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the %s address %s is taken, perhaps by another Cardea: choose another one by %s HOST:PORT",
			whose, address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on the %s address (%s): %w", whose, flag, err)
	}
	return listener, nil
}

func (s *Server) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      2 * time.Minute, // a profile takes its time
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		// Nobody loses anything by a cut answer, so nobody is waited for.
		_ = server.Close()
	}()
	if err := server.Serve(listener); ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	<-stopped
	return nil
}
