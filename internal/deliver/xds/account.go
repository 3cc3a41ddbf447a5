package xds

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"

	"cardea.dev/cardea/internal/core/resource"
)

// fragmentKey stands for a fragment in one resource, whatever its content. It is a hash, since there is one for each
// rule: were two of them ever the same, the row of the one that leaves first would stay until the other one leaves.
type fragmentKey uint64

var fragmentSeed = maphash.MakeSeed()

func keyOf(e *entry, origin resource.Origin, variant string) fragmentKey {
	return fragmentKey(maphash.Comparable(fragmentSeed, struct {
		entry   *entry
		origin  resource.Origin
		variant string
	}{e, origin, variant}))
}

// news collects what the graph should be told after a step.
type news struct {
	acked   map[resource.AckKey]uint64
	removed map[resource.AckKey]struct{}
	refused map[resource.RefusalKey]resource.Refusal
	ended   map[resource.RefusalKey]struct{} // refusals
	proxies *resource.Proxies

	trials       []result
	unattributed []resource.Refusal // for which no object can be told
}

func (n *news) empty() bool {
	return len(n.acked)+len(n.removed)+len(n.refused)+len(n.ended)+len(n.trials)+len(n.unattributed) == 0 &&
		n.proxies == nil
}

// put adds a key to one map, and removes it from another one that says the opposite.
func put[K comparable, V, W any](to *map[K]V, from map[K]W, k K, v V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[k] = v
	delete(from, k)
}

func (n *news) ack(k resource.AckKey, hash uint64) { put(&n.acked, n.removed, k, hash) }
func (n *news) remove(k resource.AckKey)           { put(&n.removed, n.acked, k, struct{}{}) }
func (n *news) refuse(k resource.RefusalKey, said resource.Refusal) {
	put(&n.refused, n.ended, k, said)
}
func (n *news) end(k resource.RefusalKey) { put(&n.ended, n.refused, k, struct{}{}) }

func (s *set) key(e *entry) resource.Key {
	return resource.Key{Gateway: s.gateway, Type: e.name.Type, Name: e.name.Name}
}

func (s *set) ackKey(e *entry, f resource.Fragment) resource.AckKey {
	return resource.AckKey{Resource: s.key(e), Origin: f.Origin, Variant: f.Variant}
}

// count counts what a part names and holds in (1) or out (-1). A fragment that is in no part any more takes its row
// along.
func (s *set) count(e *entry, p *resource.Part, by int) {
	for _, n := range p.Needs {
		if s.needs[n] += by; s.needs[n] == 0 {
			delete(s.needs, n)
		}
	}
	for _, f := range p.Fragments {
		k := keyOf(e, f.Origin, f.Variant)
		if s.fragments[k] += by; s.fragments[k] == 0 {
			delete(s.fragments, k)
			s.news.remove(s.ackKey(e, f))
		}
	}
}

// counting calls f for each stream with acknowledgements that count: each that took a whole configuration, or all while
// there is none such.
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

// confirm tells which fragments all counting proxies acknowledged by now, as they are current.
func (s *set) confirm(e *entry) {
	var all []*version
	s.counting(func(st *stream) {
		if v, uses := st.accepted(e); uses {
			all = append(all, v)
		}
	})
	if len(all) == 0 || slices.Contains(all, nil) {
		return
	}
	oldest := slices.MinFunc(all, func(a, b *version) int { return cmp.Compare(a.seq, b.seq) })
	if e.untold = slices.DeleteFunc(e.untold, func(id string) bool { return s.tell(e, id, all) }); len(e.untold) == 0 {
		e.untold = nil // most are never edited: their memory is given back
	}
	if e.confirmed != nil && oldest.seq <= e.confirmed.seq {
		return
	}
	if e.confirmed == nil && e.name.Type == resource.Routes {
		s.news.ack(resource.Arrived(s.key(e)), 0) // until then proxies keep its listeners closed
	}
	s.accept(e, oldest)
	if e.offer == oldest {
		delete(s.unconfirmed, e)
	}
}

// tell makes the rows of a part, if all have it as it is now.
func (s *set) tell(e *entry, id string, all []*version) bool {
	p := e.current.part(id)
	if p == nil {
		return true
	}
	for _, v := range all {
		if q := v.part(id); v != e.current && (q == nil || !resource.Same(p, q)) {
			return false
		}
	}
	for _, f := range p.Fragments {
		if !f.Refused {
			s.news.ack(s.ackKey(e, f), f.Hash)
		}
	}
	return true
}

// recount looks again at everything that waits for a proxy: one came, left, or began to count.
func (s *set) recount() {
	for e := range s.unconfirmed {
		s.confirm(e)
	}
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

func older(a, b string) bool {
	numbers := func(v string) (n [3]int) {
		fmt.Sscanf(v, "%d.%d.%d", &n[0], &n[1], &n[2])
		return n
	}
	x, y := numbers(a), numbers(b)
	return slices.Compare(x[:], y[:]) < 0
}
