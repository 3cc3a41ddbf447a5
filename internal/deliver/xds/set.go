package xds

import (
	"slices"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// set is what one Gateway's proxies should have, shared by all their streams.
type set struct {
	mu   sync.Mutex // guards it and its streams; the server locks it, nothing else does
	gone bool       // the server has forgotten it

	*protocol
	gateway model.ObjectRef
	entries [resource.TypeCount]map[string]*entry
	slots   [resource.TypeCount]slots
	needs   map[resource.Name]int // how many parts of current values name it
	streams map[*stream]struct{}
	seq     uint64
	rev     flow.Rev // of the graph, that the last turn showed
	sends   sends
	news    news

	fragments   map[fragmentKey]int // how many parts of a resource hold a fragment
	unconfirmed map[*entry]struct{} // their offer is not acknowledged by all
	apart       map[*entry]struct{} // their offer is not what the graph says
	leaving     map[*entry]struct{} // which the graph has no more, and what proxies keep of others may name

	suspended  map[*entry]struct{} // their state is not serving
	rejections map[resource.RefusalKey]*rejection
	groups     int                          // number of the last group of rejections
	stale      bool                         // the content of rejections left parts
	absent     map[resource.Proxy]time.Time // that refused something which still is refused, and when they went
	queue      []*entry                     // on trial, and not tried yet
	trial      *trial                       // nil: none
	trials     int64                        // number of the last one
}

type entry struct {
	name       resource.Name
	slot       int
	state      resourceState
	current    *version                  // what the graph says
	offer      *version                  // what proxies should have: current, or what they accepted before
	confirmed  *version                  // what all counting proxies acknowledged last
	untold     []string                  // changed parts, by ID, that not all counting proxies have as they are now
	kept       map[string]*resource.Part // that were accepted and serve on, in place of substitutes or beside current
	unreplaced bool                      // a part of current may have refused content, and no substitute yet
	refusal    *refusal                  // for which the state is onTrial or rejected
}

// version is one value of a resource, as it was or will be sent.
type version struct {
	res  resource.Resource
	seq  uint64    // grows with each offer of the set
	at   time.Time // when the oldest edit of the turn that made it was queued
	rev  flow.Rev  // of the graph, that was seen then
	sent bool      // to a proxy, at least once
	wire wire      // of its own lock
}

// parts are those of a version; a nil version has none.
func (v *version) parts() []*resource.Part {
	if v == nil {
		return nil
	}
	return v.res.Parts
}

// equal tells whether two versions are the same to a proxy.
func (v *version) equal(o *version) bool {
	return v == o || v != nil && o != nil && v.res.Version == o.res.Version
}

func (v *version) part(id string) *resource.Part { return resource.Find(v.parts(), id) }

// placeholderVersion is that of an answer without content.
const placeholderVersion = "-"

// update is a resource's new value; a nil value means that it left.
type update struct {
	name  resource.Name
	value *resource.Resource
}

func newSet(gateway model.ObjectRef, p *protocol) *set {
	s := &set{
		protocol:    p,
		gateway:     gateway,
		needs:       map[resource.Name]int{},
		streams:     map[*stream]struct{}{},
		fragments:   map[fragmentKey]int{},
		unconfirmed: map[*entry]struct{}{},
		apart:       map[*entry]struct{}{},
		leaving:     map[*entry]struct{}{},
		suspended:   map[*entry]struct{}{},
		rejections:  map[resource.RefusalKey]*rejection{},
		absent:      map[resource.Proxy]time.Time{},
	}
	for t := range s.entries {
		s.entries[t] = map[string]*entry{}
	}
	return s
}

func (s *set) empty() bool {
	for _, byName := range s.entries {
		if len(byName) > 0 {
			return false
		}
	}
	return len(s.streams) == 0
}

func (s *set) lookup(n resource.Name) *entry { return s.entries[n.Type][n.Name] }

func (s *set) turn(updates []update, at time.Time) {
	var changed []*entry
	var renewed []resource.Name // embedded resources
	for _, u := range updates {
		e := s.lookup(u.name)
		switch {
		case u.value != nil:
			if e == nil {
				e = &entry{name: u.name, slot: s.slots[u.name.Type].take()}
				s.entries[u.name.Type][u.name.Name] = e
			}
			delete(s.leaving, e)
			v := &version{res: *u.value, at: at, rev: s.rev}
			if len(s.spec(u.name.Type).Embedded) > 0 && !v.equal(e.current) {
				renewed = append(renewed, u.name)
			}
			s.replace(e, v)
			changed = append(changed, e)
		case e != nil:
			s.leaving[e] = struct{}{}
		}
	}
	for _, e := range changed {
		refused := e.state == rejected && slices.EqualFunc(e.refusal.current.parts(), e.current.parts(), resource.Same)
		if refused || e.state == onTrial {
			s.offer(e, e.offer)
		} else {
			s.serve(e)
		}
	}
	for _, n := range renewed {
		s.retryUsers(n)
	}
	s.tidy()
}

func (s *set) tidy() {
	s.dropUnused()
	s.dropFormer()
	s.endStale()
}

// replace takes a new value, and counts what it names and holds.
func (s *set) replace(e *entry, v *version) {
	for c := range resource.Changes(e.current.parts(), v.parts()) {
		if c.New != nil {
			s.count(e, c.New, 1)
			e.untold = append(e.untold, c.New.ID)
		}
		if c.Old != nil {
			s.count(e, c.Old, -1)
		}
		if c.New == nil {
			s.keepFormer(e, c.Old)
		}
		s.compareRejected(e, c)
	}
	if len(e.untold) > 2*len(v.parts())+16 { // edited again and again, and not acknowledged
		slices.Sort(e.untold)
		e.untold = slices.DeleteFunc(slices.Compact(e.untold), func(id string) bool { return v.part(id) == nil })
	}
	e.current = v
	note(s.apart, e, e.offer != v) // until it is offered
}

// serve offers what the graph says, unless something in that was refused and has no substitute yet. Proxies that
// refused what was offered before are asked again.
func (s *set) serve(e *entry) {
	e.refusal = nil
	if s.isUnreplaced(e) {
		s.enter(e, replacing)
		s.offer(e, e.offer)
	} else {
		s.enter(e, serving)
		s.offer(e, s.composed(e))
	}
	s.refile(e)
	s.confirm(e) // if proxies have these bytes nothing will be sent, and nothing acknowledged
}

// refile looks at every proxy's item after the state of a resource changed.
func (s *set) refile(e *entry) {
	for st := range s.streams {
		if it := st.items[e.name.Type][e.name.Name]; it != nil {
			if e.state == serving {
				it.refused = nil
			}
			st.touch(it)
			st.wake()
		}
	}
}

// offer changes what proxies should have, and tells every stream.
func (s *set) offer(e *entry, v *version) {
	note(s.apart, e, v != e.current)
	old := e.offer
	e.offer = v
	if old == v && e.current != nil {
		return
	}
	if v != nil {
		s.seq++
		v.seq = s.seq
	}
	note(s.unconfirmed, e, v != nil && v != e.confirmed)
	for st := range s.streams {
		st.offered(e, old)
	}
}

// note adds an entry to a set of entries, or takes it out.
func note(those map[*entry]struct{}, e *entry, is bool) {
	if is {
		those[e] = struct{}{}
	} else {
		delete(those, e)
	}
}

func (s *set) drop(e *entry) {
	delete(s.leaving, e)
	s.replace(e, nil)
	if e.confirmed != nil && e.name.Type == resource.Routes {
		s.news.remove(resource.Arrived(s.key(e)))
	}
	s.withdraw(e)
	delete(s.suspended, e)
	s.offer(e, nil)
	s.accept(e, nil)
	delete(s.apart, e)
	delete(s.unconfirmed, e)
	delete(s.entries[e.name.Type], e.name.Name)
	s.slots[e.name.Type].give(e.slot)
}
