package flow

// Dependency is a key that a transform fetched, present or absent.
type Dependency struct {
	By         string // the collection that the transform feeds
	Collection string
	Key        any
}

// Trace lists what every transform that ran on key has fetched, in any collection that has keys of its type. It waits
// for a turn that is running.
func (g *Graph) Trace(key any) []Dependency {
	g.turnMu.Lock()
	defer g.turnMu.Unlock()
	var list []Dependency
	for _, s := range g.stages {
		list = append(list, s.traceKey(key)...)
	}
	return list
}

// traceKey reads what turns write; the caller holds Graph.turnMu.
func (c *store) traceKey(key any) (list []Dependency) {
	k, ok := c.is(key)
	if !ok {
		return nil
	}
	s := c.base.at(k)
	if s == nil {
		return nil
	}
	for r := s.runs; r != nil; r = r.next {
		for _, n := range r.dependencies() {
			from := c.g.stages[n.coll]
			list = append(list, Dependency{By: c.g.stages[r.coll].title(), Collection: from.title(), Key: from.nodeKey(n)})
		}
	}
	return list
}
