package flow

import (
	"time"
	"unsafe"
)

// CollectionStats is a collection's size, and its work since the graph was made.
type CollectionStats struct {
	Name      string
	Keys      int // present
	Absent    int // absent keys that were fetched
	Edges     int // fetches that the current values depend on
	Stale     int // input keys that panicked in their last run
	Runs      uint64
	Changes   uint64
	Panics    uint64
	Took      time.Duration // in turns
	KeyBytes  int           // memory for one key, without the key and its value
	EdgeBytes int           // memory for one edge
}

// turnCounts are the statistics that a turn counts.
type turnCounts struct {
	Edges, Stale          int
	Runs, Changes, Panics uint64
	Took                  time.Duration
}

// counters: now is for the goroutine of the turn, shown is for readers. A Try saves and restores them.
type counters struct {
	working, published, saved turnCounts
}

func (c *counters) publishCounts() { c.published = c.working } // under Graph.mu
func (c *counters) saveCounts()    { c.saved = c.working }
func (c *counters) restoreCounts() { c.working = c.saved }

// Stats is one entry for each collection, in the order of creation.
func (g *Graph) Stats() []CollectionStats {
	g.mu.RLock()
	defer g.mu.RUnlock()
	all := make([]CollectionStats, len(g.stages))
	for i, s := range g.stages {
		all[i] = s.stats()
	}
	return all
}

func (c *store) stats() CollectionStats {
	n := c.counters.published
	return CollectionStats{
		Name: c.name, Keys: c.present, Absent: c.base.len - c.present,
		Edges: n.Edges, Stale: n.Stale, Runs: n.Runs, Changes: n.Changes, Panics: n.Panics, Took: n.Took,
		KeyBytes: c.keyBytes(), EdgeBytes: edgeBytes,
	}
}

// edgeBytes is a pointer in each direction and the mean spare room of a list that doubles.
const edgeBytes = 8 + 8*4/3

// keyBytes is a slot, its place in a table at mean load, and a run with its first output. The benchmark measures the
// same from outside.
func (c *store) keyBytes() int {
	n := int(unsafe.Sizeof(slot{})) + 9*16/9
	switch c.form.(type) {
	case sourceForm:
	default:
		n += int(unsafe.Sizeof(run{})) + 16
	}
	return n
}
