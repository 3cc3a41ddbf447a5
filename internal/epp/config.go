package epp

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/objectives"
	"cardea.dev/cardea/internal/epp/prefix"
	"cardea.dev/cardea/internal/epp/rewrite"
	"cardea.dev/cardea/internal/epp/score"
)

// Source tells the members of the pool: once when they are known, and again whenever they change, until ctx ends.
type Source interface {
	Run(ctx context.Context, tell func(members.Pool)) error
}

// Load tells how busy endpoints are.
type Load interface {
	// Follow replaces the list of endpoints to be watched for their load.
	Follow(endpoints []string)
	State(endpoint string) score.State
	// Gone are the endpoints that don't answer, and why.
	Gone() map[string]string
	// NoToken says why the endpoints get no token when they are asked; "": they do, or none is stated.
	NoToken() string
	// Run does the work until ctx ends.
	Run(ctx context.Context) error
}

// Config is what a Picker needs. Members and Load must be set; Defaults has values for the rest.
type Config struct {
	Pool    string // its name, for metrics
	Members Source
	Load    Load

	Score      score.Config
	Priorities objectives.Config
	// BlockSize is the size in bytes of the first blocks that prompts are cut into; 0: the block size that the servers
	// tell of their caches, but at least prefix.DefaultBlockSize.
	BlockSize       int
	BlocksPerServer int
	Fallbacks       int // endpoints that are named after the best one, for connection failures
	BodyLimit       int // bytes of a body that are waited for; the rest is streamed on unread

	// ClearRouteCache makes Envoy choose the route anew. The picker changes nothing by which routes are chosen, and a
	// weighted choice would be made twice; so this is for gateways that rely on it.
	ClearRouteCache bool
	// ShowPick adds the header x-cardea-picked to responses.
	ShowPick bool
	Log      *slog.Logger // nil discards

	random func() *rand.Rand // nil: another order each time
}

// Defaults is a Config without members and load.
func Defaults() Config {
	return Config{
		Score: score.Default(), Priorities: objectives.Config{Trust: objectives.Any},
		BlocksPerServer: prefix.DefaultCapacity, Fallbacks: 2, BodyLimit: 1 << 20,
	}
}

// Picker picks the endpoints of one pool.
type Picker struct {
	// Set by New.
	cfg     Config
	seed    uint64
	index   *prefix.Index
	flights *flights
	metrics *metrics

	pool atomic.Pointer[pool] // nil until it is known
}

// pool is what is known of the pool; it is never changed, only replaced.
type pool struct {
	members    []members.Member
	addresses  []string
	objectives map[string]int
	rewrites   rewrite.Rewrites
}

// New makes a Picker; Run makes it work.
func New(cfg Config) (*Picker, error) {
	switch {
	case cfg.Members == nil || cfg.Load == nil:
		return nil, errors.New("picker: Members and Load must be set")
	case cfg.BlocksPerServer < 1:
		return nil, errors.New("picker: a server must keep one block at least")
	case cfg.BlockSize < 0 || cfg.Fallbacks < 0 || cfg.BodyLimit < 0:
		return nil, errors.New("picker: a number is negative")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.random == nil {
		cfg.random = func() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }
	}
	p := &Picker{
		cfg: cfg, seed: rand.Uint64(), index: prefix.NewIndex(cfg.BlocksPerServer),
		flights: newFlights(),
	}
	p.metrics = newMetrics(p)
	return p, nil
}

// tell takes a new list of members. It forgets what it knew of endpoints that went.
func (p *Picker) tell(told members.Pool) {
	next := &pool{members: told.Members, objectives: told.Objectives, rewrites: told.Rewrites}
	stays := map[string]bool{}
	for _, m := range told.Members {
		next.addresses = append(next.addresses, m.Address)
		stays[m.Address] = true
	}
	p.pool.Store(next)
	p.cfg.Load.Follow(next.addresses)
	p.index.Keep(func(server string) bool { return stays[server] })
	p.cfg.Log.Info("pool changed", "endpoints", len(next.addresses))
}

// since is a duration for histograms, in seconds.
func since(began time.Time) float64 { return time.Since(began).Seconds() }
