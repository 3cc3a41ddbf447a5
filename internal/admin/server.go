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

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// DefaultAddr is where the API listens unless told otherwise, and where `cardea get` asks.
const DefaultAddr = "127.0.0.1:9900"

// Objects are what the API shows. A message is a complete Kubernetes object: apiVersion, kind, metadata, spec and status;
// what a Secret holds may be in it, and is not shown. Its methods are called by many goroutines.
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

// Config is what a Server shows. All but Log and OnListen must be set.
type Config struct {
	Addr     string // host:port to listen on
	Graph    *flow.Graph
	Objects  Objects
	Ready    func() (ready bool, reason string) // reason says what it waits for
	Gatherer prometheus.Gatherer
	Findings func() []Finding
	Log      *slog.Logger
	OnListen func(addr string) // called by Run when it can be asked
}

// Server is the API.
type Server struct {
	config Config
	mux    *http.ServeMux
}

// New makes a Server; Run listens.
func New(c Config) (*Server, error) {
	if c.Addr == "" || c.Graph == nil || c.Objects == nil || c.Ready == nil || c.Gatherer == nil || c.Findings == nil {
		return nil, errors.New("admin: Addr, Graph, Objects, Ready, Gatherer and Findings must be set")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: c, mux: http.NewServeMux()}
	s.mux.HandleFunc("/{$}", s.index)
	s.mux.HandleFunc("/healthz", s.healthz)
	s.mux.HandleFunc("/readyz", s.readyz)
	s.mux.Handle("/metrics", promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{}))
	s.mux.HandleFunc("/objects", s.kinds)
	s.mux.HandleFunc("/objects/{kind}", s.list)
	s.mux.HandleFunc("/objects/{kind}/{name}", s.listOrGet)
	s.mux.HandleFunc("/objects/{kind}/{namespace}/{name}", s.get)
	s.mux.HandleFunc("/findings", s.findings)
	s.mux.HandleFunc("/debug/flow", s.flowStats)
	s.mux.HandleFunc("/debug/flow/turns", s.flowTurns)
	s.mux.HandleFunc("/debug/flow/{collection...}", s.flowCollection)
	s.mux.HandleFunc("/debug/pprof/", pprof.Index)
	s.mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	s.mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	s.mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	s.mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fail(w, http.StatusNotFound, "no such page, see /") })
	return s, nil
}

// Run listens and answers until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.config.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("the admin API's address %s is taken, perhaps by another Cardea: choose another one by --admin HOST:PORT", s.config.Addr)
	}
	if err != nil {
		return fmt.Errorf("listen on the admin API's address (--admin): %w", err)
	}
	server := &http.Server{
		Handler:           guard(listener.Addr(), s.mux),
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
	s.config.Log.Info("admin API listens", "address", listener.Addr().String())
	if s.config.OnListen != nil {
		s.config.OnListen(listener.Addr().String())
	}
	if err := server.Serve(listener); ctx.Err() == nil {
		return fmt.Errorf("serve the admin API: %w", err)
	}
	<-stopped
	return nil
}
