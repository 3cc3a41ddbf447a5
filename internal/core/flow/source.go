package flow

// Source is a collection that is filled from outside, by batches. Only sources may keep history.
type Source[K comparable, V any] struct {
	c Collection[K, V]
	syncing
}

// syncing says whether a source was loaded.
type syncing struct {
	g      *Graph
	synced bool // under Graph.queueMu
}

// NewSource makes an empty source. No turn runs until every source of the graph is synced.
func NewSource[K comparable, V any](g *Graph, name string) *Source[K, V] {
	c := newStore[K, V](g, name)
	c.form = sourceForm{}
	g.queueMu.Lock()
	g.unsynced++
	g.queueMu.Unlock()
	return &Source[K, V]{c: Collection[K, V]{c}, syncing: syncing{g: g}}
}

// Collection is the collection that transforms and readers use.
func (s *Source[K, V]) Collection() *Collection[K, V] { return &s.c }

// Set gives k a value. The value belongs to the graph from now on: the caller must not change it. A value that is equal
// to the current one changes nothing.
func (s *Source[K, V]) Set(b *Batch, k K, v V) {
	c, next := s.c.store, &typed[K, V]{k, v}
	b.addEdit(s.g, c.name, func() { c.set(next.cell()) })
}

// Update gives k the value that f makes from the current one, when a turn takes the batch; found reports whether there
// is one. f must be pure.
func (s *Source[K, V]) Update(b *Batch, k K, f func(was V, found bool) V) {
	c := s.c.store
	b.addEdit(s.g, c.name, func() {
		next := &typed[K, V]{key: k}
		if at := find(c, k); at != nil && at.currentCell() != nil {
			next.value = f(typedOf[K, V](at.currentCell()).value, true)
		} else {
			next.value = f(next.value, false)
		}
		c.set(next.cell())
	})
}

// Delete removes k, if it is present.
func (s *Source[K, V]) Delete(b *Batch, k K) {
	c := s.c.store
	b.addEdit(s.g, c.name, func() {
		if at := find(c, k); at != nil {
			c.stageCell(at, nil)
		}
	})
}

// MarkSynced says that the first load of this source is complete with this batch. Calling it again changes nothing.
func (s *Source[K, V]) MarkSynced(b *Batch) {
	b.addEdit(s.g, s.c.Name(), func() {})
	b.synced = append(b.synced, &s.syncing)
}

// markSynced is called under Graph.queueMu, or before the graph is shared.
func (s *syncing) markSynced() {
	if !s.synced {
		s.synced = true
		s.g.unsynced--
	}
}

// sourceForm: edits are staged before the turn visits the collections, so there is nothing to compute.
type sourceForm struct{}

func (sourceForm) computeKeys(*turn)                   {}
func (sourceForm) enqueueRun(*run)                     {}
func (sourceForm) storeRuns()                          {}
func (sourceForm) dropStaged()                         {}
func (sourceForm) eachRun(func(d *runDump, _ []*node)) {}
