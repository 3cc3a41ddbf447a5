package flow

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// The table is a map of the same operations, through growing, shrinking and wrapping around.
func TestTableIsAMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	of := newKit[int, int]("")
	tab := table{kit: &of}
	model := map[int]*slot{}
	for step := range 60_000 {
		k := rnd.IntN(2000)
		growing := step/10_000%2 == 0
		switch s := model[k]; {
		case s == nil && (growing || rnd.IntN(4) == 0):
			s = &slot{cell: (&typed[int, int]{key: k}).cell()}
			model[k] = s
			tab.insert(s)
		case s != nil && (!growing || rnd.IntN(4) == 0):
			delete(model, k)
			tab.remove(s)
		}
		if k := rnd.IntN(2000); tab.at(unsafe.Pointer(&k)) != model[k] {
			t.Fatalf("step %d: at(%d) is %v, want %v", step, k, tab.at(unsafe.Pointer(&k)), model[k])
		}
		if tab.len != len(model) {
			t.Fatalf("step %d: %d slots, want %d", step, tab.len, len(model))
		}
		if step%1000 == 0 {
			all := map[int]*slot{}
			for s := range tab.all {
				all[*(*int)(s.slotKey())] = s
			}
			if !maps.Equal(all, model) {
				t.Fatalf("step %d: all is not what was inserted", step)
			}
		}
		if len(tab.tags) > smallestTable && 8*tab.len < len(tab.tags) {
			t.Fatalf("step %d: %d slots in %d places", step, tab.len, len(tab.tags))
		}
	}
}

// After each step the lists of readers are the mirror of the runs' dependencies; hot lists may hold stale entries, but
// never more than live ones.
func TestReadersMirrorDependencies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	g := New(Config{})
	idle := &idleStage{}
	g.stages = append(g.stages, idle)
	coll := uint16(len(g.stages) - 1)
	nodes := make([]*node, 12)
	for i := range nodes {
		nodes[i] = &node{id: uint64(i + 1), coll: coll}
	}
	runs := make([]*run, 200)
	for i := range runs {
		runs[i] = &run{in: &node{id: uint64(1000 + i)}, coll: coll}
	}
	for step := range 8_000 {
		r := runs[rnd.IntN(len(runs))]
		var deps []*node
		for i, n := range nodes {
			// Node 0 is read by nearly all, the others by few, so both kinds of lists are exercised, and switched between.
			if i == 0 && rnd.IntN(10) > 0 || i > 0 && rnd.IntN(4+step/400*i) == 0 {
				deps = append(deps, n)
			}
		}
		idle.nodes = nil
		g.setDependencies(r, slices.Clone(deps))
		for _, n := range nodes {
			live := 0
			for _, r := range runs {
				if r.dependsOn(n) {
					live++
					if !slices.Contains(n.readerList(), r) {
						t.Fatalf("step %d: a reader of %d is not listed", step, n.id)
					}
				}
			}
			if int(n.nreaders-n.stale) != live || n.stale > n.nreaders-n.stale+1 {
				t.Fatalf("step %d: node %d has %d readers, %d stale, want %d live", step, n.id, n.nreaders, n.stale, live)
			}
			if live == 0 != (n.nreaders == 0) {
				t.Fatalf("step %d: node %d keeps %d stale readers and no other", step, n.id, n.nreaders)
			}
		}
		if !slices.Equal(r.dependencies(), deps) {
			t.Fatal("dependencies are not what was set")
		}
	}
	idle.nodes = nil
	read := slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return n.nreaders == 0 })
	for _, r := range runs {
		g.setDependencies(r, nil)
	}
	for _, n := range read {
		if n.nreaders != 0 || n.readers != nil || !slices.Contains(idle.nodes, n) {
			t.Errorf("node %d: %d readers, idle %t", n.id, n.nreaders, slices.Contains(idle.nodes, n))
		}
	}
}

type idleStage struct {
	stage
	nodes []*node
}

func (s *idleStage) markIdle(n *node) { s.nodes = append(s.nodes, n) }

// A graph whose keys come and go keeps nothing of them.
func TestNothingIsKeptOfKeysThatWent(t *testing.T) {
	g := New(Config{})
	s, targets := NewSource[string, string](g, "s"), NewSource[string, int](g, "targets")
	Map(s.Collection(), "m", func(c *Ctx, k, v string) (int, bool) { return Fetch(c, targets.Collection(), v) })
	groups := Group(s.Collection(), "g", func(k, v string) []string { return []string{v} },
		func(k, v string) string { return k })
	Map(groups, "gm", func(c *Ctx, k string, m Members[string, string]) (int, bool) { return m.Len(), true })
	g.Apply("start", func(b *Batch) { s.MarkSynced(b); targets.MarkSynced(b) })
	for i := range 100 {
		k := fmt.Sprint("key", i)
		g.Apply("come", func(b *Batch) { s.Set(b, k, "absent "+k) })
		g.Settle()
		g.Apply("go", func(b *Batch) { s.Delete(b, k) })
		g.Settle()
	}
	for _, st := range g.Stats() {
		if st.Keys != 0 || st.Edges != 0 || st.Absent != 0 {
			t.Errorf("%+v", st)
		}
	}
	if c := s.Collection().store; c.base.len != 0 || c.followers != nil {
		t.Errorf("%d slots of keys that went", c.base.len)
	}
}
