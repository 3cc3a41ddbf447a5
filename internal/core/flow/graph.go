package flow

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Rev numbers the committed turns that changed something. It grows by one; 0 is the empty state before the first turn.
type Rev uint64

// Config has the settings of a Graph. The zero Config is usable.
type Config struct {
	Name    string       // in log lines and panics
	Check   bool         // run each transform twice, and check that stored values do not change; for tests, slow
	Workers int          // goroutines within one collection of a turn; 0 is GOMAXPROCS
	Log     *slog.Logger // nil: nothing is logged
	// Fault, if not nil, is called at the end of each transform, with the collection that is made and the key of its
	// input. It may panic: with it, tests show the effect of a bug in any transform.
	Fault func(collection, key string)
	Now   func() time.Time // nil is time.Now; used for the record of turns only
}

// Graph is a set of collections that change together, in turns.
type Graph struct {
	cfg Config

	// Set while collections are made; fixed from the first turn on.
	stages []stage
	names  map[string]bool
	panics *Source[PanicKey, Panic]
	sealed atomic.Bool

	nextID atomic.Uint64 // of nodes

	// The queue of the next turn. queueMu is held for a few instructions only.
	queueMu  sync.Mutex
	queue    []*Batch
	unsynced int
	wake     chan struct{} // capacity 1

	turnMu  sync.Mutex   // held while a turn runs, in Run, Settle or Try; and by Dump
	onTurn  []func(Turn) // under turnMu
	running atomic.Bool

	// The committed state, which readers see. Written by a commit under mu.
	mu    sync.RWMutex
	rev   Rev
	grown chan struct{} // closed when rev grows
	turns ring
}

// New makes a Graph without collections, except [Graph.Panics].
func New(cfg Config) *Graph {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	g := &Graph{
		cfg:   cfg,
		names: map[string]bool{},
		wake:  make(chan struct{}, 1),
		grown: make(chan struct{}),
	}
	g.panics = NewSource[PanicKey, Panic](g, "flow panics")
	g.panics.markSynced()
	return g
}

// stage is a collection as the code of a turn uses it.
type stage interface {
	title() string
	computeKeys(t *turn)     // run the dirty keys and stage their results
	finishTurn(t *turn)      // find what changed and queue the runs that read it
	changeCount() int        // keys that finish found changed
	verifyValues()           // check mode: stored and staged values are as they were stored
	storeRuns()              // store the new dependencies and outputs of runs; no reader looks at these
	commit(rev Rev)          // make staged values the committed ones; under Graph.mu
	dropStaged()             // forget what this turn staged, or what remains after a commit
	enqueueRun(r *run)       // r read something that changed
	markIdle(n *node)        // n may have lost its last reader
	nodeKey(n *node) any     // the key of n
	workCounters() *counters // of this collection
	stats() CollectionStats
	dumpKeys() (*collectionDump, error)
	traceKey(key any) []Dependency // what the runs on a key fetched
}

// register adds a collection at the end of the order.
func (g *Graph) register(name string, s stage) uint16 {
	if g.sealed.Load() {
		panic(fmt.Sprintf("flow: graph %q: collection %q made after the first turn", g.cfg.Name, name))
	}
	if name == "" {
		panic(fmt.Sprintf("flow: graph %q: a collection needs a name", g.cfg.Name))
	}
	if g.names[name] {
		panic(fmt.Sprintf("flow: graph %q: two collections named %q", g.cfg.Name, name))
	}
	if len(g.stages) > 0xfffe {
		panic("flow: too many collections")
	}
	g.names[name] = true
	g.stages = append(g.stages, s)
	return uint16(len(g.stages) - 1)
}
