package flow

// Source is a collection that is filled from outside, by batches. Only sources may keep history.
type Source[K comparable, V any] struct {
	g      *Graph
	c      *Collection[K, V]
	edits  editable[K, V]
	synced bool // under Graph.queueMu
}

// editable is the store of a Source; see Collection for why the Source does not name it.
type editable[K comparable, V any] interface {
	set(k K, v V)
	update(k K, f func(was V, found bool) V)
	delete(k K)
}

// NewSource makes an empty source. No turn runs until every source of the graph is synced.
func NewSource[K comparable, V any](g *Graph, name string) *Source[K, V] {
	c := newStore[K, V](g, name)
	c.form = sourceForm{}
	g.queueMu.Lock()
	g.unsynced++
	g.queueMu.Unlock()
	return &Source[K, V]{g: g, c: &c.handle, edits: c}
}

// Collection is the collection that transforms and readers use.
func (s *Source[K, V]) Collection() *Collection[K, V] { return s.c }

// Set gives k a value. The value belongs to the graph from now on: the caller must not change it. A value that is equal
// to the current one changes nothing.
func (s *Source[K, V]) Set(b *Batch, k K, v V) {
	b.write(s.g, s.c.Name(), func() { s.edits.set(k, v) })
}

// Update gives k the value that f makes from the current one, when a turn takes the batch; found reports whether there
// is one. f must be pure.
func (s *Source[K, V]) Update(b *Batch, k K, f func(was V, found bool) V) {
	b.write(s.g, s.c.Name(), func() { s.edits.update(k, f) })
}

// Delete removes k, if it is present.
func (s *Source[K, V]) Delete(b *Batch, k K) {
	b.write(s.g, s.c.Name(), func() { s.edits.delete(k) })
}

// Synced says that the first load of this source is complete with this batch. Calling it again changes nothing.
func (s *Source[K, V]) Synced(b *Batch) {
	b.write(s.g, s.c.Name(), func() {})
	b.synced = append(b.synced, s)
}

// markSynced is called under Graph.queueMu, or before the graph is shared.
func (s *Source[K, V]) markSynced() {
	if !s.synced {
		s.synced = true
		s.g.unsynced--
	}
}

func (c *store[K, V]) set(k K, v V) { c.write(c.cellFor(k, v)) }

func (c *store[K, V]) update(k K, f func(was V, found bool) V) {
	var was V
	found := false
	if at := c.find(k); at != nil && at.now() != nil {
		was, found = at.now().value, true
	}
	c.write(c.cellFor(k, f(was, found)))
}

func (c *store[K, V]) delete(k K) {
	if at := c.find(k); at != nil {
		c.stage(at, nil)
	}
}

// sourceForm: edits are staged before the turn visits the collections, so there is nothing to compute.
type sourceForm struct{}

func (sourceForm) compute(*turn)                    {}
func (sourceForm) enqueue(*run)                     {}
func (sourceForm) fold()                            {}
func (sourceForm) drop()                            {}
func (sourceForm) runs(func(d *runDump, _ []*node)) {}
