package xds

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cardea.dev/cardea/internal/resource"
)

// wardPrefix begins the names of wards' listeners and tables. Each ward has a name of its own: a proxy keeps a listener for a
// while after it was removed, and with it the table.
const wardPrefix = "ward/"

// oneByOne is how many suspects are tried one by one at once: more are tried in slots first.
const oneByOne = 16

// ward finds out which fragments of refused route tables are bad, apart from live traffic: Envoy's message names none. It is a
// listener that takes no connection, with a table of its own, at the proxy that refused (the driver). All of what it tries is
// sent to that one table, one response for each slot, without a wait: Envoy answers each of them.
//
//	n suspects ---> slots of sqrt(n) ---> the members of refused slots, one by one ---> verdict
//
// So a search takes two rounds at most. The tables that were refused are held meanwhile: nobody is sent what is new in them, and
// all keep what they have. After the verdict the graph puts substitutes in the place of what is bad; then they are released.
type ward struct {
	driver   *stream
	name     string
	opened   bool // the listener was sent
	asked    bool // the proxy asked for the table
	tables   map[*entry]*inquiry
	next     []slot // to be sent
	pending  int    // slots without an answer
	suspects int
	rounds   int
	began    time.Time
}

// inquiry is what a refused table is held for.
type inquiry struct {
	refusal
	suspects []*suspect
	based    bool // the driver has accepted another version: what is not in that is suspected
}

// suspect is a fragment that is new in a refused table.
type suspect struct {
	fragment resource.Fragment
	pieces   [][]byte
	refused  bool   // alone
	said     string // of it then
}

// slot is what is tried together.
type slot []*suspect

// refusal is one of a table that no ward has looked into yet.
type refusal struct {
	stream *stream
	entry  *entry
	no     *version // what was refused
	said   resource.Refusal
}

// search is what became of a ward, for the log.
type search struct {
	suspects, culprits, rounds int
	took                       time.Duration
}

// inquire holds a table that a proxy refused, and finds out why: by what is new to that proxy. One fragment alone is the culprit.
func (s *set) inquire(st *stream, e *entry, v, has, base *version, said resource.Refusal) {
	found := accused(has, v)
	if len(found) == 0 {
		// Nothing that can be blamed differs from what was accepted: that stays until the table changes.
		e.refused = v
		s.news.stuck = append(s.news.stuck, said)
		s.offer(e, base)
		return
	}
	e.held = true
	s.offer(e, base)
	if len(found) == 1 {
		s.convict([]charge{{fragment: found[0], said: said}})
		s.settle(e)
		return
	}
	s.queue = append(s.queue, refusal{st, e, v, said})
	s.admit()
}

// admit opens a ward for the first refusal that waits, if there is none.
func (s *set) admit() {
	if s.ward != nil || len(s.queue) == 0 {
		return
	}
	st := s.queue[0].stream
	if s.wards == 0 {
		s.wards = st.now.Unix() // a proxy may know wards of a server that was here before
	}
	s.wards++
	s.ward = &ward{driver: st, name: wardPrefix + strconv.FormatInt(s.wards, 10), tables: map[*entry]*inquiry{}, began: st.now}
	if st.wake != nil {
		st.wake()
	}
}

// searched tells whether a table is in the ward, or waits for it.
func (s *set) searched(e *entry) bool {
	if s.ward != nil && s.ward.tables[e] != nil {
		return true
	}
	return slices.ContainsFunc(s.queue, func(r refusal) bool { return r.entry == e })
}

// cut makes the slots when the proxy is ready for them, of the newest content of all tables that it refused by then.
func (s *set) cut() {
	w := s.ward
	w.asked, w.rounds = true, 1
	known := map[resource.RefusalKey]*suspect{} // a rule that serves at many places is tried once
	var all slot
	var later []refusal
	for _, r := range s.queue {
		if r.stream != w.driver {
			later = append(later, r)
			continue
		}
		has, _ := w.driver.accepted(r.entry)
		q := &inquiry{refusal: r, based: has != nil}
		w.tables[r.entry] = q
		for c := range diff(has.parts(), r.entry.current.parts()) {
			if c.new == nil {
				continue
			}
			var pieces map[resource.Origin][][]byte
			for _, f := range newFragments(c.old, c.new) {
				k := s.refusalKey(f)
				if known[k] == nil {
					if pieces == nil {
						pieces = s.maker.Pieces(c.new)
					}
					known[k] = &suspect{fragment: f, pieces: pieces[f.Origin]}
					if len(known[k].pieces) > 0 {
						all = append(all, known[k])
					}
				}
				q.suspects = append(q.suspects, known[k])
			}
		}
	}
	s.queue, w.suspects = later, len(all)
	size := 1
	if len(all) > oneByOne {
		size = int(math.Ceil(math.Sqrt(float64(len(all)))))
	}
	for some := range slices.Chunk(all, size) {
		w.next = append(w.next, some)
	}
	w.pending = len(w.next)
	if w.pending == 0 {
		s.verdict()
	}
}

// heard takes the driver's answer to a slot, and what it said of it if it refused it.
func (s *set) heard(tried slot, refused bool, said string) {
	w := s.ward
	w.pending--
	switch {
	case !refused:
	case len(tried) == 1:
		tried[0].refused, tried[0].said = true, said
	default:
		w.rounds = 2
		for _, x := range tried {
			w.next = append(w.next, slot{x})
		}
		w.pending += len(tried)
	}
	if w.pending == 0 {
		s.verdict()
	}
}

// verdict ends a search.
func (s *set) verdict() {
	w := s.ward
	var charges []charge
	for _, e := range slices.SortedFunc(maps.Keys(w.tables), byEntryName) {
		charges = append(charges, s.charges(e, w.tables[e])...)
	}
	culprits := s.convict(charges)
	s.news.searches = append(s.news.searches, search{w.suspects, culprits, w.rounds, w.driver.now.Sub(w.began)})
	s.dismiss()
}

// charges are what was found in a table. If nothing of it is refused alone, all that is new in it is refused together, until one of it
// changes: else the table would be kept from all edits. Not if the table was edited since: then that is tried. Nor if the driver
// has no older version, so that everything would be new: then proxies keep what they have until the table changes.
func (s *set) charges(e *entry, q *inquiry) (list []charge) {
	for _, x := range q.suspects {
		if x.refused {
			said := q.said
			said.Message = x.said
			list = append(list, charge{fragment: x.fragment, said: said})
		}
	}
	switch {
	case len(list) > 0 || !q.no.equal(e.current):
	case !q.based:
		e.refused = e.current
		s.news.stuck = append(s.news.stuck, q.said)
	default:
		all := &company{}
		for _, x := range q.suspects {
			list = append(list, charge{x.fragment, q.said, all})
		}
	}
	return list
}

// dismiss takes the ward away, and goes on with what waits.
func (s *set) dismiss() {
	w := s.ward
	s.ward = nil
	if w.opened {
		w.driver.closed = append(w.driver.closed, w.name)
	}
	for _, e := range slices.SortedFunc(maps.Keys(w.tables), byEntryName) {
		s.settle(e)
	}
	s.admit()
}

func byEntryName(a, b *entry) int { return strings.Compare(a.name.Name, b.name.Name) }

// settle releases a table that is held, unless something in it was refused or may be: then the graph will change it.
func (s *set) settle(e *entry) {
	if e.held && !s.searched(e) && !s.tainted(e) {
		s.offer(e, s.choose(e))
	}
}

// tainted tells whether a table has content that was refused, which no proxy must be sent.
func (s *set) tainted(e *entry) bool {
	return s.blame.bare > 0 && slices.ContainsFunc(e.current.parts(), func(p *resource.Part) bool {
		return slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool {
			return !f.Refused && s.blame.refused[s.refusalKey(f)] != nil
		})
	})
}

// undrive ends what a stream that is gone had refused: those that are left are asked.
func (s *set) undrive(st *stream) {
	var held []*entry
	s.queue = slices.DeleteFunc(s.queue, func(r refusal) bool {
		if r.stream == st {
			held = append(held, r.entry)
		}
		return r.stream == st
	})
	if s.ward != nil && s.ward.driver == st {
		s.dismiss()
	}
	for _, e := range held {
		s.settle(e)
	}
}

// forget takes a table that left out of the ward.
func (s *set) forget(e *entry) {
	e.held = false
	s.queue = slices.DeleteFunc(s.queue, func(r refusal) bool { return r.entry == e })
	if s.ward != nil {
		delete(s.ward.tables, e)
	}
}

// accused are the fragments that are new in a version, without substitutes.
func accused(base, v *version) []resource.Fragment {
	var list []resource.Fragment
	for c := range diff(base.parts(), v.parts()) {
		if c.new != nil {
			list = append(list, newFragments(c.old, c.new)...)
		}
	}
	return list
}

// wards sends what the ward tries, and takes those that are closed away.
func (st *stream) wards() {
	if len(st.closed) > 0 { // before the next one: they share an address
		st.push(&response{typ: resource.Listener, removed: st.closed})
		st.closed = nil
	}
	for st.set.ward != nil && st.set.ward.driver == st && !st.subs[resource.Listener].open {
		st.set.unopened()
	}
	if w := st.set.ward; w != nil && w.driver == st {
		if !w.opened {
			w.opened = true
			st.pushWard(resource.Listener, w, nil, st.set.maker.Listener(w.name, w.name))
		}
		for _, tried := range w.next {
			var pieces [][]byte
			for _, x := range tried {
				pieces = append(pieces, x.pieces...)
			}
			st.pushWard(resource.Routes, w, tried, st.set.maker.Table(w.name, pieces))
		}
		w.next = nil
	}
}

func (st *stream) pushWard(t resource.Type, w *ward, tried slot, r resource.Resource) {
	st.push(&response{typ: t, ward: w, slot: tried, items: []shipment{{resource.Name{Type: t, Name: w.name}, &version{res: r}}}})
}

// examined takes the answer to a response of a ward, and what the proxy said if it refused it.
func (st *stream) examined(r *response, refused bool, said string) {
	s := st.set
	switch {
	case s.ward != r.ward: // it ended
	case r.slot != nil:
		s.heard(r.slot, refused, said)
	case refused:
		s.unopened()
	}
}

// unopened ends a search for which the proxy takes no ward: nobody is heard alone.
func (s *set) unopened() {
	w := s.ward
	if s.cut(); s.ward == w {
		w.next = nil
		s.verdict()
	}
}

// isWard tells of a table that a proxy asks for that it is a ward's, and begins when it is the one that is open.
func (st *stream) isWard(n resource.Name) bool {
	if n.Type != resource.Routes || !strings.HasPrefix(n.Name, wardPrefix) {
		return false
	}
	if w := st.set.ward; w != nil && w.driver == st && w.name == n.Name && !w.asked {
		st.set.cut()
	}
	return true
}
