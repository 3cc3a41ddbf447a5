package xds

import (
	"slices"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

const typeCount = int(resource.Routes) + 1

// set is what one Gateway's proxies should have, shared by all their streams. Not safe for concurrent use.
type set struct {
	gateway model.ObjectRef
	maker   resource.Ward
	entries [typeCount]map[string]*entry
	slots   [typeCount]slots
	needs   map[resource.Name]int // how many parts of current values name it
	streams map[*stream]struct{}
	seq     uint64
	rev     flow.Rev // of the graph, that the last turn showed
	sends   *sends
	offers  *offers

	held        map[heldKey]int // how many parts of a resource hold a fragment
	unconfirmed map[*entry]struct{}
	apart       map[*entry]struct{} // whose offer is not what the graph says
	left        map[*entry]struct{} // the graph has them no more, and what is kept of others names them
	stirred     bool                // what is kept of others may be less since depart looked
	unbound     map[*entry]unable   // listeners that a proxy could not bind
	blame       blame
	news        news

	gone map[resource.Proxy]time.Time // that refused what still is refused, and when they went

	queue []refusal // not looked into yet
	ward  *ward     // nil: none
	wards int64     // number of the last one
}

// entry is one resource.
type entry struct {
	name resource.Name
	slot int
	// current is what the graph says; nil if it says nothing any more.
	current *version
	// offer is what proxies should have: current, or what stands in for it after a refusal; nil if nothing can.
	offer *version
	// confirmed is what all counting proxies acknowledged last.
	confirmed *version
	// lost are parts to be told again when they are acknowledged, though they may be those of confirmed.
	lost map[string]struct{}
	// refused is the version that a proxy refused, if offer stands in for it.
	refused   *version
	refusedBy resource.Proxy
	// held, for what a ward looks into: something in it was refused or may be. Proxies keep what they have.
	held bool
	// vain is the value of current of which a search found nothing, so that it was tried with other chains that were kept. Not again: two proxies
	// that refuse each other's would be sent the one and the other in turn.
	vain *version
}

// update is a resource's new value; a nil value means that it left.
type update struct {
	name  resource.Name
	value *resource.Resource
}

func newSet(gateway model.ObjectRef, maker resource.Ward) *set {
	s := &set{
		gateway:     gateway,
		maker:       maker,
		sends:       &sends{},
		offers:      &offers{},
		needs:       map[resource.Name]int{},
		streams:     map[*stream]struct{}{},
		held:        map[heldKey]int{},
		unconfirmed: map[*entry]struct{}{},
		apart:       map[*entry]struct{}{},
		left:        map[*entry]struct{}{},
		unbound:     map[*entry]unable{},
		blame:       newBlame(),
		gone:        map[resource.Proxy]time.Time{},
	}
	for t := range s.entries {
		s.entries[t] = map[string]*entry{}
	}
	return s
}

// empty tells that the set can be forgotten.
func (s *set) empty() bool {
	for _, byName := range s.entries {
		if len(byName) > 0 {
			return false
		}
	}
	return len(s.streams) == 0
}

// lookup finds a resource.
func (s *set) lookup(n resource.Name) *entry { return s.entries[n.Type][n.Name] }

// turn takes all changes of one turn.
func (s *set) turn(updates []update, at time.Time) {
	for _, u := range updates {
		e := s.lookup(u.name)
		if u.value == nil {
			if e != nil {
				s.left[e], s.stirred = struct{}{}, true
			}
			continue
		}
		if e == nil {
			e = &entry{name: u.name, slot: s.slots[u.name.Type].take()}
			s.entries[u.name.Type][u.name.Name] = e
		}
		delete(s.left, e)
		s.put(e, u.value, at)
	}
	s.tidy()
}

// tidy does what follows from what changed.
func (s *set) tidy() {
	s.depart()
	s.sweep()
	for e := range s.unbound {
		s.bound(e)
	}
}

func (s *set) put(e *entry, value *resource.Resource, at time.Time) {
	old := e.current
	e.current, s.stirred = &version{res: *value, at: at, rev: s.rev}, true
	s.count(e, old, e.current)
	s.reoffer(e)
	if e.name.Type == resource.Secret && !old.equal(e.current) {
		s.reconsider(e.name)
	}
}

// reoffer offers what is right after a new value, or after a search.
func (s *set) reoffer(e *entry) {
	held := e.held
	s.offer(e, s.choose(e))
	if held && !e.held {
		s.lookAgain(e)
	}
	s.confirm(e) // if proxies have these bytes nothing will be sent, and nothing acknowledged
}

// lookAgain has proxies sent what is offered of a resource that is held no more. One may have another version, and one may have refused just that
// before anybody knew what of it is bad: what it refuses now is searched for. It is not asked about what stands in for all of the resource.
func (s *set) lookAgain(e *entry) {
	for st := range s.streams {
		it := st.items[e.name.Type][e.name.Name]
		if it == nil {
			continue
		}
		if e.refused == nil {
			it.no = nil
		}
		st.touch(it)
		if st.wake != nil {
			st.wake()
		}
	}
}

// choose is what to offer.
func (s *set) choose(e *entry) *version {
	if warded(e.name.Type) && (s.searched(e) || s.tainted(e)) {
		e.held = true
		return e.offer
	}
	e.held = false
	if e.refused != nil {
		if slices.EqualFunc(e.refused.parts(), e.current.parts(), same) {
			return e.offer
		}
		e.refused = nil
	}
	return s.servable(e)
}

func (s *set) drop(e *entry) {
	delete(s.left, e)
	s.count(e, e.current, nil)
	if e.confirmed != nil && e.name.Type == resource.Routes {
		s.news.leave(s.arrived(e))
	}
	s.accept(e, nil)
	e.current, e.refused = nil, nil
	s.forget(e)
	delete(s.unbound, e)
	s.offer(e, nil)
	delete(s.unconfirmed, e)
	delete(s.entries[e.name.Type], e.name.Name)
	s.slots[e.name.Type].give(e.slot)
	if e.name.Type == resource.Listener {
		s.trim()
	}
}

// count keeps the numbers of what parts name and hold.
func (s *set) count(e *entry, old, new *version) {
	for c := range diff(old.parts(), new.parts()) {
		if c.new != nil {
			for _, n := range c.new.Needs {
				s.needs[n]++
			}
			s.hold(e, c.new)
		}
		if c.old != nil {
			for _, n := range c.old.Needs {
				if s.needs[n]--; s.needs[n] == 0 {
					delete(s.needs, n)
				}
			}
			s.release(e, c.old)
		}
	}
}

// offer changes what proxies should have, and tells every stream.
func (s *set) offer(e *entry, v *version) {
	if v == e.current {
		delete(s.apart, e)
	} else {
		s.apart[e] = struct{}{}
	}
	old := e.offer
	e.offer, s.stirred = v, true
	s.note(e)
	if old == v && e.current != nil {
		return
	}
	if v != nil {
		s.seq++
		v.seq = s.seq
	}
	if v != nil && v != e.confirmed {
		s.unconfirmed[e] = struct{}{}
	} else {
		delete(s.unconfirmed, e)
	}
	for st := range s.streams {
		st.offered(e, old)
	}
}
