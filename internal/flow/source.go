package flow

// Source is a collection that is filled from outside, by batches. Only sources may keep history.
type Source[K comparable, V any] struct {
	c      *Collection[K, V]
	synced bool // under Graph.queueMu
}

// NewSource makes an empty source. No turn runs until every source of the graph is synced.
func NewSource[K comparable, V any](g *Graph, name string) *Source[K, V] {
	s := &Source[K, V]{c: newCollection[K, V](g, name)}
	s.c.form = sourceForm{}
	g.queueMu.Lock()
	g.unsynced++
	g.queueMu.Unlock()
	return s
}

// Collection is the collection that transforms and readers use.
func (s *Source[K, V]) Collection() *Collection[K, V] { return s.c }

// Set gives k a value. The value belongs to the graph from now on: the caller must not change it. A value that is equal
// to the current one changes nothing.
func (s *Source[K, V]) Set(b *Batch, k K, v V) {
	b.write(s.c.g, s.c.name, func() { s.c.write(s.c.cellFor(k, v)) })
}

// Update gives k the value that f makes from the current one, when a turn takes the batch; found reports whether there
// is one. f must be pure.
func (s *Source[K, V]) Update(b *Batch, k K, f func(was V, found bool) V) {
	b.write(s.c.g, s.c.name, func() {
		var was V
		found := false
		if at := s.c.find(k); at != nil && at.now() != nil {
			was, found = at.now().value, true
		}
		s.c.write(s.c.cellFor(k, f(was, found)))
	})
}

// Delete removes k, if it is present.
func (s *Source[K, V]) Delete(b *Batch, k K) {
	b.write(s.c.g, s.c.name, func() {
		if at := s.c.find(k); at != nil {
			s.c.stage(at, nil)
		}
	})
}

// Synced says that the first load of this source is complete with this batch. Calling it again changes nothing.
func (s *Source[K, V]) Synced(b *Batch) {
	b.write(s.c.g, s.c.name, func() {})
	b.synced = append(b.synced, s)
}

// markSynced is called under Graph.queueMu, or before the graph is shared.
func (s *Source[K, V]) markSynced() {
	if !s.synced {
		s.synced = true
		s.c.g.unsynced--
	}
}

// sourceForm: edits are staged before the turn visits the collections, so there is nothing to compute.
type sourceForm struct{}

func (sourceForm) compute(*turn)                    {}
func (sourceForm) enqueue(*run)                     {}
func (sourceForm) fold()                            {}
func (sourceForm) drop()                            {}
func (sourceForm) runs(func(d *runDump, _ []*node)) {}
