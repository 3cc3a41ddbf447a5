package xds

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Config is what a Server needs.
type Config struct {
	Graph *flow.Graph
	// Resources are those of a dialect (resource.Outputs.Resources), Protocol is its.
	Resources []*flow.Collection[resource.Key, resource.Resource]
	Feedback  *resource.Feedback
	Protocol  resource.Protocol
	// Identify finds out which client opened a stream, by its credentials, before the first request is read. Its error
	// refuses the stream: for now if it is ErrUnknown.
	Identify func(context.Context) (GatewayResolver, error)
	Limits   Limits
	Log      *slog.Logger
	Metrics  prometheus.Registerer // nil: none
	Now      func() time.Time      // nil: time.Now
}

// GatewayResolver tells which Gateway a proxy serves, by the node that it says it is. Its error refuses the stream.
type GatewayResolver func(Node) (model.ObjectRef, error)

// Node is who a proxy says that it is: the id and the cluster of its node.
type Node struct{ ID, Cluster string }

// Server serves resources to proxies over delta ADS.
type Server struct {
	cfg            Config
	protocol       *protocol
	metrics        *metrics
	requestTimeout time.Duration // with a proxy that says nothing
	loaded         chan struct{} // closed after the first whole turn
	seen           atomic.Uint64 // see Seen

	mu   sync.Mutex                      // of sets; under it nothing waits for the graph, nor for a set's lock
	sets map[model.ObjectRef]*gatewaySet // guarded by mu

	rejectedLog, unavailableLog logLimiter
}

// New makes a Server. It does nothing before Run.
func New(cfg Config) (*Server, error) {
	switch {
	case cfg.Graph == nil, cfg.Feedback == nil:
		return nil, errors.New("xds: a graph and feedback sources are needed")
	case cfg.Identify == nil:
		return nil, errors.New("xds: a way to identify proxies is needed")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Limits = cfg.Limits.withDefaults()
	p, err := newProtocol(cfg.Protocol)
	if err != nil {
		return nil, err
	}
	return &Server{
		cfg: cfg, protocol: p, metrics: newMetrics(p.Types, cfg.Metrics), requestTimeout: firstRequestTimeout,
		loaded: make(chan struct{}), sets: map[model.ObjectRef]*gatewaySet{},
	}, nil
}

// WhenLoaded is closed when the first whole turn has been published.
func (s *Server) WhenLoaded() <-chan struct{} { return s.loaded }

// Run follows the graph's turns until ctx ends. Streams are answered from its first turn on.
func (s *Server) Run(ctx context.Context) error {
	followers := make([]*flow.Follower[resource.Key, resource.Resource], len(s.cfg.Resources))
	for i, c := range s.cfg.Resources {
		followers[i] = flow.Follow(c)
		defer followers[i].Stop()
	}
	var seen flow.Rev
	for range s.cfg.Graph.Watch(ctx) {
		updates := map[model.ObjectRef][]update{}
		var rev flow.Rev
		s.cfg.Graph.View(func(v flow.View) {
			rev = v.Rev()
			for _, f := range followers {
				for ch := range f.Changes(v) {
					u := update{name: resource.Name{Type: ch.Key.Type, Name: ch.Key.Name}}
					if !ch.Deleted {
						u.value = &ch.Value
					}
					updates[ch.Key.Gateway] = append(updates[ch.Key.Gateway], u)
				}
			}
		})
		at := s.oldestQueued(seen, rev)
		seen = rev
		for gateway, list := range updates {
			s.applyTurn(gateway, list, rev, at)
		}
		s.seen.Store(uint64(rev))
		select {
		case <-s.loaded:
		default:
			close(s.loaded)
		}
	}
	return nil
}

// oldestQueued is when the oldest edit was queued of the turns after a revision, up to another one: as a rule of one
// turn.
func (s *Server) oldestQueued(after, upTo flow.Rev) time.Time {
	oldest := s.cfg.Now()
	for rev := upTo; rev > after; rev-- {
		turn, known := s.cfg.Graph.TurnOf(rev)
		if !known {
			break
		}
		if turn.Queued.Before(oldest) {
			oldest = turn.Queued
		}
	}
	return oldest
}
