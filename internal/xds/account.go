package xds

import (
	"hash/maphash"

	"cardea.dev/cardea/internal/resource"
)

// heldKey stands for a fragment in one resource, whatever its content. It is a hash, since there is one for each rule: were two of
// them ever the same, the row of the one that leaves first would stay until the other one leaves.
type heldKey uint64

var heldSeed = maphash.MakeSeed()

func heldAs(e *entry, origin resource.Origin, variant string) heldKey {
	return heldKey(maphash.Comparable(heldSeed, struct {
		entry   *entry
		origin  resource.Origin
		variant string
	}{e, origin, variant}))
}

// news collects what the graph should be told after a step.
type news struct {
	acked   map[resource.AckKey]uint64
	left    map[resource.AckKey]struct{}
	refused map[resource.RefusalKey]resource.Refusal
	pardon  map[resource.RefusalKey]struct{}
	proxies *resource.Proxies

	searches []search
	stuck    []resource.Refusal // for which nothing can be put aside
}

func (n *news) empty() bool {
	return len(n.acked)+len(n.left)+len(n.refused)+len(n.pardon)+len(n.searches)+len(n.stuck) == 0 && n.proxies == nil
}

func (n *news) ack(k resource.AckKey, hash uint64) {
	if n.acked == nil {
		n.acked = map[resource.AckKey]uint64{}
	}
	n.acked[k] = hash
	delete(n.left, k)
}

func (n *news) leave(k resource.AckKey) {
	if n.left == nil {
		n.left = map[resource.AckKey]struct{}{}
	}
	n.left[k] = struct{}{}
	delete(n.acked, k)
}

func (s *set) ackKey(e *entry, f resource.Fragment) resource.AckKey {
	return resource.AckKey{
		Resource: resource.Key{Gateway: s.gateway, Type: e.name.Type, Name: e.name.Name},
		Origin:   f.Origin, Variant: f.Variant,
	}
}

// arrived is the row that says that proxies have a table at all: until then they keep its listeners closed.
func (s *set) arrived(e *entry) resource.AckKey {
	return resource.Arrived(resource.Key{Gateway: s.gateway, Type: e.name.Type, Name: e.name.Name})
}

// hold counts a part's fragments in.
func (s *set) hold(e *entry, p *resource.Part) {
	for _, f := range p.Fragments {
		s.held[heldAs(e, f.Origin, f.Variant)]++
		s.blame.add(1, e.name.Type, s.refusalKey(f), f)
	}
}

// release counts a part's fragments out. A fragment that is in no part any more takes its row along.
func (s *set) release(e *entry, p *resource.Part) {
	for _, f := range p.Fragments {
		s.blame.add(-1, e.name.Type, s.refusalKey(f), f)
		k := heldAs(e, f.Origin, f.Variant)
		if s.held[k]--; s.held[k] > 0 {
			continue
		}
		delete(s.held, k)
		s.news.leave(s.ackKey(e, f))
		if e.confirmed.part(p.ID) == nil {
			continue // it is new to confirmed when it comes back
		}
		if e.lost == nil {
			e.lost = map[string]struct{}{}
		}
		e.lost[p.ID] = struct{}{}
	}
}

// counting calls f for each stream whose acknowledgements count: those that took a whole configuration, or all while there
// is none such.
func (s *set) counting(f func(*stream)) {
	whole := false
	for st := range s.streams {
		whole = whole || st.whole
	}
	for st := range s.streams {
		if st.whole == whole {
			f(st)
		}
	}
}

// confirm tells which fragments all counting proxies acknowledged by now. It costs what changed since it did so last.
func (s *set) confirm(e *entry) {
	if e.current == nil {
		return
	}
	var floor *version
	var have []*version
	missing := false
	s.counting(func(st *stream) {
		v, uses := st.accepted(e)
		if !uses {
			return
		}
		missing = missing || v == nil
		have = append(have, v)
		if v != nil && (floor == nil || v.seq < floor.seq) {
			floor = v
		}
	})
	if missing || floor == nil || e.confirmed != nil && floor.seq <= e.confirmed.seq && len(e.lost) == 0 {
		return
	}
	if e.confirmed != nil && floor.seq < e.confirmed.seq {
		return
	}
	s.tell(e, floor, have)
	if e.confirmed == nil && e.name.Type == resource.Routes {
		s.news.ack(s.arrived(e), 0)
	}
	s.accept(e, floor)
	if e.offer == floor {
		delete(s.unconfirmed, e)
	}
	s.refresh(e)
	if e.name.Type == resource.Listener {
		s.trim()
	}
}

// tell makes the rows of the parts that are new in floor. A part that changed since waits for the next time: its content may
// come back.
func (s *set) tell(e *entry, floor *version, have []*version) {
	var again map[string]struct{}
	row := func(p *resource.Part) {
		for _, v := range append(have, e.current) {
			if v == floor {
				continue
			}
			if q := v.part(p.ID); q == nil || !same(p, q) {
				if again == nil {
					again = map[string]struct{}{}
				}
				again[p.ID] = struct{}{}
				return
			}
		}
		for _, f := range p.Fragments {
			if f.Refused || s.held[heldAs(e, f.Origin, f.Variant)] == 0 {
				continue
			}
			s.news.ack(s.ackKey(e, f), f.Hash)
		}
	}
	for c := range diff(e.confirmed.parts(), floor.parts()) {
		if c.new != nil {
			row(c.new)
			delete(e.lost, c.new.ID)
		}
	}
	for id := range e.lost {
		if p := floor.part(id); p != nil {
			row(p)
		}
	}
	e.lost = again
}

// recount looks again at everything that waits for a proxy: one left, or began to count.
func (s *set) recount() {
	for e := range s.unconfirmed {
		s.confirm(e)
	}
	s.tellProxies()
}

func (s *set) tellProxies() {
	p := resource.Proxies{Connected: len(s.streams)}
	for st := range s.streams {
		if st.whole {
			p.Acknowledged++
		}
		if p.Version == "" || older(st.proxy, p.Version) {
			p.Version = st.proxy
		}
	}
	s.news.proxies = &p
}
