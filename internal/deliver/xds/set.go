package xds

import (
	"slices"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// gatewaySet is what one Gateway's proxies should have, shared by all their streams.
type gatewaySet struct {
	mu        sync.Mutex // guards it and its streams; the server locks it, nothing else does
	forgotten bool       // the server has forgotten it

	*protocol
	gateway  model.ObjectRef
	entries  []map[string]*entry   // by type
	slots    []slots               // by type
	needs    map[resource.Name]int // how many parts of current values name it
	streams  map[*stream]struct{}
	seq      uint64
	rev      flow.Rev // of the graph, that the last turn showed
	sends    sendLog
	feedback pendingFeedback

	fragments   map[fragmentKey]int // how many parts of a resource hold a fragment
	unconfirmed map[*entry]struct{} // their offer is not acknowledged by all
	divergent   map[*entry]struct{} // their offer is not what the graph says
	deleting    map[*entry]struct{} // which the graph has no more, and what proxies keep of others may name

	suspended   map[*entry]struct{} // their state is not serving
	rejections  map[resource.RefusalKey]*rejection
	lastGroup   int                                   // number of the last group of rejections
	hasStale    bool                                  // the content of rejections left parts
	absentSince map[resource.ConnectedProxy]time.Time // that refused something which still is refused, and when they went
	queue       []*entry                              // on trial, and not tried yet
	trial       *trial                                // nil: none
	lastTrial   int64                                 // number of the last one
}

type entry struct {
	name       resource.Name
	slot       int
	state      resourceState
	current    *version                  // what the graph says
	offer      *version                  // what proxies should have: current, or what they accepted before
	confirmed  *version                  // what all counting proxies acknowledged last
	unreported []string                  // changed parts, by ID, that not all counting proxies have as they are now
	kept       map[string]*resource.Part // that were accepted and serve on, in place of substitutes or beside current
	unreplaced bool                      // a part of current may have refused content, and no substitute yet
	refusal    *refusal                  // for which the state is onTrial or rejected
}

// version is one value of a resource, as it was or will be sent.
type version struct {
	res      resource.Resource
	seq      uint64          // grows with each offer of the set
	editedAt time.Time       // when the oldest edit of the turn that made it was queued
	rev      flow.Rev        // of the graph, that was seen then
	sent     bool            // to a proxy, at least once
	encoded  encodedResource // of its own lock
}

// parts are those of a version; a nil version has none.
func (v *version) parts() []*resource.Part {
	if v == nil {
		return nil
	}
	return v.res.Parts
}

// sameAs tells whether two versions are the same to a proxy.
func (v *version) sameAs(o *version) bool {
	return v == o || v != nil && o != nil && v.res.Version == o.res.Version
}

func (v *version) part(id string) *resource.Part { return resource.FindPart(v.parts(), id) }

// placeholderVersion is that of an answer without content.
const placeholderVersion = "-"

// update is a resource's new value; a nil value means that it left.
type update struct {
	name  resource.Name
	value *resource.Resource
}

func newSet(gateway model.ObjectRef, p *protocol) *gatewaySet {
	s := &gatewaySet{
		protocol:    p,
		gateway:     gateway,
		entries:     make([]map[string]*entry, len(p.specs)),
		slots:       make([]slots, len(p.specs)),
		needs:       map[resource.Name]int{},
		streams:     map[*stream]struct{}{},
		fragments:   map[fragmentKey]int{},
		unconfirmed: map[*entry]struct{}{},
		divergent:   map[*entry]struct{}{},
		deleting:    map[*entry]struct{}{},
		suspended:   map[*entry]struct{}{},
		rejections:  map[resource.RefusalKey]*rejection{},
		absentSince: map[resource.ConnectedProxy]time.Time{},
	}
	for t := range s.entries {
		s.entries[t] = map[string]*entry{}
	}
	return s
}

func (s *gatewaySet) isEmpty() bool {
	for _, byName := range s.entries {
		if len(byName) > 0 {
			return false
		}
	}
	return len(s.streams) == 0
}

func (s *gatewaySet) lookup(n resource.Name) *entry { return s.entries[n.Type][n.Name] }

func (s *gatewaySet) applyUpdates(updates []update, at time.Time) {
	var changed []*entry
	var renewed []resource.Name // embedded resources
	for _, u := range updates {
		e := s.lookup(u.name)
		switch {
		case u.value != nil:
			if e == nil {
				e = &entry{name: u.name, slot: s.slots[u.name.Type].takeSlot()}
				s.entries[u.name.Type][u.name.Name] = e
			}
			delete(s.deleting, e)
			v := &version{res: *u.value, editedAt: at, rev: s.rev}
			if len(s.spec(u.name.Type).Embedded) > 0 && !v.sameAs(e.current) {
				renewed = append(renewed, u.name)
			}
			s.replaceValue(e, v)
			changed = append(changed, e)
		case e != nil:
			s.deleting[e] = struct{}{}
		}
	}
	for _, e := range changed {
		refused := e.state == rejected && slices.EqualFunc(e.refusal.current.parts(), e.current.parts(), resource.EqualParts)
		if refused || e.state == onTrial {
			s.setOffer(e, e.offer)
		} else {
			s.serveEntry(e)
		}
	}
	for _, n := range renewed {
		s.retryUsers(n)
	}
	s.dropObsolete()
}

func (s *gatewaySet) dropObsolete() {
	s.dropUnused()
	s.dropFormer()
	s.endStale()
}

// replaceValue takes a new value, and counts what it names and holds.
func (s *gatewaySet) replaceValue(e *entry, v *version) {
	for c := range resource.DiffParts(e.current.parts(), v.parts()) {
		if c.New != nil {
			s.countPart(e, c.New, 1)
			e.unreported = append(e.unreported, c.New.ID)
		}
		if c.Old != nil {
			s.countPart(e, c.Old, -1)
		}
		if c.New == nil {
			s.keepFormerPart(e, c.Old)
		}
		s.compareRejected(e, c)
	}
	if len(e.unreported) > 2*len(v.parts())+16 { // edited again and again, and not acknowledged
		slices.Sort(e.unreported)
		e.unreported = slices.DeleteFunc(slices.Compact(e.unreported), func(id string) bool { return v.part(id) == nil })
	}
	e.current = v
	setMember(s.divergent, e, e.offer != v) // until it is offered
}

// serveEntry offers what the graph says, unless something in that was refused and has no substitute yet. Proxies that
// refused what was offered before are asked again.
func (s *gatewaySet) serveEntry(e *entry) {
	e.refusal = nil
	if s.isUnreplaced(e) {
		s.enterState(e, replacing)
		s.setOffer(e, e.offer)
	} else {
		s.enterState(e, serving)
		s.setOffer(e, s.composeOffer(e))
	}
	s.refreshItems(e)
	s.confirmAcked(e) // if proxies have these bytes nothing will be sent, and nothing acknowledged
}

// refreshItems looks at every proxy's item after the state of a resource changed.
func (s *gatewaySet) refreshItems(e *entry) {
	for st := range s.streams {
		if it := st.items[e.name.Type][e.name.Name]; it != nil {
			if e.state == serving {
				it.refused = nil
			}
			st.refreshItem(it)
			st.wake()
		}
	}
}

// setOffer changes what proxies should have, and tells every stream.
func (s *gatewaySet) setOffer(e *entry, v *version) {
	setMember(s.divergent, e, v != e.current)
	old := e.offer
	e.offer = v
	if old == v && e.current != nil {
		return
	}
	if v != nil {
		s.seq++
		v.seq = s.seq
	}
	setMember(s.unconfirmed, e, v != nil && v != e.confirmed)
	for st := range s.streams {
		st.onOffer(e, old)
	}
}

// setMember adds an entry to a set of entries, or takes it out.
func setMember(those map[*entry]struct{}, e *entry, is bool) {
	if is {
		those[e] = struct{}{}
	} else {
		delete(those, e)
	}
}

func (s *gatewaySet) dropEntry(e *entry) {
	delete(s.deleting, e)
	s.replaceValue(e, nil)
	if e.confirmed != nil && e.name.Type == s.tables {
		s.feedback.removeAck(resource.TableAckKey(s.resourceKey(e)))
	}
	s.withdrawFromTrial(e)
	delete(s.suspended, e)
	s.setOffer(e, nil)
	s.setConfirmed(e, nil)
	delete(s.divergent, e)
	delete(s.unconfirmed, e)
	delete(s.entries[e.name.Type], e.name.Name)
	s.slots[e.name.Type].freeSlot(e.slot)
}
