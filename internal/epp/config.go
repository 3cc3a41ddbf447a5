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

// MemberSource tells the members of the pool: once when they are known, and again whenever they change, until ctx ends.
type MemberSource interface {
	Run(ctx context.Context, tell func(members.Pool)) error
}

// LoadMonitor tells how busy endpoints are.
type LoadMonitor interface {
	// SetEndpoints replaces the list of endpoints to be watched for their load.
	SetEndpoints(endpoints []string)
	StateOf(endpoint string) score.State
	// FailedEndpoints are the endpoints that don't answer, and why.
	FailedEndpoints() map[string]string
	// DescribeTokenError says why the endpoints get no token when they are asked; "": they do, or none is stated.
	DescribeTokenError() string
	// Run does the work until ctx ends.
	Run(ctx context.Context) error
}

// Config is what a Picker needs. Members and LoadMonitor must be set; Defaults has values for the rest.
type Config struct {
	Pool    string // its name, for metrics
	Members MemberSource
	Load    LoadMonitor

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
		Score: score.DefaultConfig(), Priorities: objectives.Config{Trust: objectives.Any},
		BlocksPerServer: prefix.DefaultCapacity, Fallbacks: 2, BodyLimit: 1 << 20,
	}
}

// Picker picks the endpoints of one pool.
type Picker struct {
	// Set by New.
	cfg     Config
	seed    uint64
	index   *prefix.Index
	flights *inFlightCounter
	metrics *metrics

	pool atomic.Pointer[poolState] // nil until it is known
}

// poolState is what is known of the pool; it is never changed, only replaced.
type poolState struct {
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
		flights: newInFlightCounter(),
	}
	p.metrics = newMetrics(p)
	return p, nil
}

// setPool takes a new list of members. It forgets what it knew of endpoints that went.
func (p *Picker) setPool(told members.Pool) {
	next := &poolState{members: told.Members, objectives: told.Objectives, rewrites: told.Rewrites}
	stays := map[string]bool{}
	for _, m := range told.Members {
		next.addresses = append(next.addresses, m.Address)
		stays[m.Address] = true
	}
	p.pool.Store(next)
	p.cfg.Load.SetEndpoints(next.addresses)
	p.index.KeepServers(func(server string) bool { return stays[server] })
	p.cfg.Log.Info("pool changed", "endpoints", len(next.addresses))
}

// secondsSince is a duration for histograms, in seconds.
func secondsSince(began time.Time) float64 { return time.Since(began).Seconds() }
