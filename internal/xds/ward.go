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

// answerTime is how long a proxy may take to ask for a ward's table, or to answer the next slot. A connection that is dead ends sooner or later;
// this is for one that lives and says nothing of the ward, while what it refused is held at all proxies.
const answerTime = 15 * time.Second

// mostSilences is for how many wards, one after the other, it may say nothing in time, before what that decides stands.
const mostSilences = 3

// wardPrefix begins the names of wards' listeners and tables. Each ward has a name of its own: a proxy keeps a listener for a
// while after it was removed, and with it the table.
const wardPrefix = "ward/"

// chainsSuffix ends the name of the listener in which a ward tries filter chains.
const chainsSuffix = "/chains"

// oneByOne is how many suspects are tried one by one at once: more are tried in slots first.
const oneByOne = 16

// ward finds out which fragments of refused route tables and listeners are bad, apart from live traffic: Envoy's message names none.
// It is a listener that takes no connection, with a table of its own, at the proxy that refused (the driver). All of what it tries is
// sent to that one table, one response for each slot, without a wait: Envoy answers each of them. Filter chains are tried in the same
// way, in a second listener.
//
//	n suspects ---> slots of sqrt(n) ---> the members of refused slots, one by one ---> verdict
//
// So a search takes two rounds at most. What was refused is held meanwhile: nobody is sent what is new in it, and all keep what they
// have. After the verdict the graph puts substitutes in the place of what is bad; then it is released.
type ward struct {
	driver   *stream
	name     string
	opened   bool // the listener was sent
	asked    bool // the proxy asked for the table
	chains   bool // the listener of chains was sent
	inquests map[*entry]*inquiry
	next     []slot // to be sent
	pending  int    // slots without an answer
	suspects int
	rounds   int
	began    time.Time
	at       time.Time // when something was sent last, or an answer came
	silent   bool      // it ended because the proxy said nothing
}

// inquiry is what a refused resource is held for.
type inquiry struct {
	refusal
	suspects []*suspect
	based    bool // the driver has accepted another version: what is not in that is suspected
}

// suspect is a fragment that is new in a refused resource.
type suspect struct {
	typ      resource.Type // of the resource
	fragment resource.Fragment
	pieces   [][]byte // none if it can't be tried
	refused  bool     // alone
	said     string   // of it then
}

// slot is what is tried together; all of one type.
type slot []*suspect

// refusal is one of a resource that no ward has looked into yet.
type refusal struct {
	stream *stream
	entry  *entry
	no     *version // what was refused
	of     *version // the value of the graph that it was made of
	base   *version // what stays if it is refused as a whole
	said   resource.Refusal
}

// warded tells whether what is bad in a refused resource of a type is looked for.
func warded(t resource.Type) bool { return t == resource.Routes || t == resource.Listener }

// search is what became of a ward, for the log.
type search struct {
	suspects, culprits, rounds int
	took                       time.Duration
}

// inquire holds a resource that a proxy refused, and finds out why: by what is new to that proxy. One fragment alone is the culprit.
func (s *set) inquire(r refusal, has *version) {
	if s.searchedFor(r.stream, r.entry) {
		return // it refused what stands in, too
	}
	e, chains := r.entry, r.entry.name.Type == resource.Listener
	found := s.accused(e, has, r.no)
	if chains && len(found) == 0 {
		found = s.accused(e, nil, r.no)
	}
	switch rest := untried(found); {
	case len(found) == 0:
		// Nothing that can be blamed differs from what was accepted: that stays until the table changes.
		e.putAside(r.stream)
		s.news.stuck = append(s.news.stuck, r.said)
		s.offer(e, r.base)
	case chains && len(rest) == len(found):
		s.refuseWhole(r, found)
	case len(found) == 1:
		e.held = true
		s.offer(e, r.base)
		s.convict(r.stream.who(), []charge{{fragment: found[0].fragment, said: r.said}})
		s.settle(e)
	default:
		e.held = true
		s.offer(e, r.base)
		s.queue = append(s.queue, r)
		s.admit()
	}
}

// accused are the fragments that are new in a version of a resource, without substitutes.
func (s *set) accused(e *entry, base, v *version) []*suspect {
	var list []*suspect
	for c := range diff(base.parts(), v.parts()) {
		if c.new == nil {
			continue
		}
		var pieces map[resource.Origin][][]byte
		for _, f := range newFragments(c.old, c.new) {
			if pieces == nil && warded(e.name.Type) {
				pieces = s.maker.Pieces(e.name.Type, c.new)
			}
			list = append(list, &suspect{typ: e.name.Type, fragment: f, pieces: pieces[f.Origin]})
		}
	}
	return list
}

// untried are those that can't be tried.
func untried(list []*suspect) []*suspect {
	return slices.DeleteFunc(slices.Clone(list), func(x *suspect) bool { return len(x.pieces) > 0 })
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
	s.ward = &ward{driver: st, name: wardPrefix + strconv.FormatInt(s.wards, 10), inquests: map[*entry]*inquiry{}, began: st.now}
	if st.wake != nil {
		st.wake()
	}
}

// searched tells whether a resource is in the ward, or waits for it.
func (s *set) searched(e *entry) bool {
	if s.ward != nil && s.ward.inquests[e] != nil {
		return true
	}
	return slices.ContainsFunc(s.queue, func(r refusal) bool { return r.entry == e })
}

// searchedFor tells the same of what a proxy refused.
func (s *set) searchedFor(st *stream, e *entry) bool {
	if s.ward != nil && s.ward.driver == st && s.ward.inquests[e] != nil {
		return true
	}
	return slices.ContainsFunc(s.queue, func(r refusal) bool { return r.entry == e && r.stream == st })
}

// cut makes the slots when the proxy is ready for them, of the newest content of all that it refused by then.
func (s *set) cut() {
	w := s.ward
	w.asked, w.rounds = true, 1
	known := map[resource.RefusalKey]*suspect{} // what serves at many places is tried once
	all := map[resource.Type]slot{}
	var later []refusal
	for _, r := range s.queue {
		if r.stream != w.driver {
			later = append(later, r)
			continue
		}
		has, _ := w.driver.accepted(r.entry)
		q := &inquiry{refusal: r, based: has != nil}
		w.inquests[r.entry] = q
		for _, x := range s.accused(r.entry, has, s.servable(r.entry)) {
			k := s.refusalKey(x.fragment)
			if known[k] == nil {
				known[k] = x
				if len(x.pieces) > 0 {
					all[x.typ] = append(all[x.typ], x)
				}
			}
			q.suspects = append(q.suspects, known[k])
		}
	}
	s.queue = later
	for _, t := range resource.Types() {
		size := 1
		if len(all[t]) > oneByOne {
			size = int(math.Ceil(math.Sqrt(float64(len(all[t])))))
		}
		for some := range slices.Chunk(all[t], size) {
			w.next = append(w.next, some)
		}
		w.suspects += len(all[t])
	}
	w.pending = len(w.next)
	if w.pending == 0 {
		s.verdict()
	}
}

// heard takes the driver's answer to a slot, and what it said of it if it refused it.
func (s *set) heard(tried slot, refused bool, said string) {
	w := s.ward
	w.at = w.driver.now
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
	if !w.silent {
		w.driver.silences = 0
	}
	var charges []charge
	for _, e := range slices.SortedFunc(maps.Keys(w.inquests), byEntryName) {
		charges = append(charges, s.charges(e, w.inquests[e])...)
	}
	culprits := s.convict(w.driver.who(), charges)
	s.news.searches = append(s.news.searches, search{w.suspects, culprits, w.rounds, w.driver.now.Sub(w.began)})
	s.dismiss()
}

// charges are what was found in a resource. If nothing of it is refused alone, it is what can't be tried, a listener's address; or else all that
// is new in it is refused together, until one of it changes: else the resource would be kept from all edits. Not if it was edited
// since, or other chains are kept by now: then that is tried. Nor if the driver has no older version, so that everything would be new, or if it fell
// silent, which says nothing of what others serve: then proxies keep what they have until the resource changes, or the driver speaks.
func (s *set) charges(e *entry, q *inquiry) (list []charge) {
	for _, x := range q.suspects {
		if x.refused {
			said := q.said
			said.Message = strings.ReplaceAll(x.said, s.ward.name+chainsSuffix, e.name.Name)
			list = append(list, charge{fragment: x.fragment, said: said})
		}
	}
	rest := untried(q.suspects)
	switch {
	case len(list) > 0:
	case !q.no.equal(s.servable(e)) && (q.of != e.current || e.vain != e.current):
		if q.of == e.current {
			e.vain = e.current
		}
	case e.name.Type == resource.Listener && len(rest) > 0:
		s.refuseWhole(q.refusal, rest)
	case !q.based, s.ward.silent:
		e.putAside(q.stream)
		s.news.stuck = append(s.news.stuck, q.said)
	default:
		all := &company{}
		for _, x := range q.suspects {
			list = append(list, charge{fragment: x.fragment, said: q.said, with: all})
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
	if w.chains {
		w.driver.closed = append(w.driver.closed, w.name+chainsSuffix)
	}
	for _, e := range slices.SortedFunc(maps.Keys(w.inquests), byEntryName) {
		s.settle(e)
	}
	s.admit()
}

func byEntryName(a, b *entry) int { return strings.Compare(a.name.Name, b.name.Name) }

// settle releases a resource that is held, unless something in it was refused or may be: then the graph will change it.
func (s *set) settle(e *entry) {
	if e.held && !s.searched(e) && !s.tainted(e) {
		s.reoffer(e)
	}
}

// tainted tells whether a resource has content that was refused, which no proxy must be sent, and for which a substitute will come.
func (s *set) tainted(e *entry) bool {
	return s.blame.bare > 0 && slices.ContainsFunc(e.current.parts(), func(p *resource.Part) bool {
		return slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool {
			g := s.blame.refused[s.refusalKey(f)]
			return g != nil && !g.whole && !f.Refused
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

// forget takes a resource that left out of the ward.
func (s *set) forget(e *entry) {
	e.held = false
	s.queue = slices.DeleteFunc(s.queue, func(r refusal) bool { return r.entry == e })
	if s.ward != nil {
		delete(s.ward.inquests, e)
	}
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
			st.pushWard(w, nil, resource.Name{Type: resource.Listener, Name: w.name}, st.set.maker.Listener(w.name, w.name))
		}
		for _, tried := range w.next {
			var pieces [][]byte
			for _, x := range tried {
				pieces = append(pieces, x.pieces...)
			}
			typ, name := tried[0].typ, w.name
			if typ == resource.Listener {
				name, w.chains = w.name+chainsSuffix, true
			}
			st.pushWard(w, tried, resource.Name{Type: typ, Name: name}, st.set.maker.Trial(typ, name, pieces))
		}
		w.next = nil
	}
}

func (st *stream) pushWard(w *ward, tried slot, n resource.Name, r resource.Resource) {
	w.at = st.now
	st.later(w.at.Add(answerTime))
	st.push(&response{typ: n.Type, ward: w, slot: tried, items: []shipment{{n, &version{res: r}}}})
}

// examined takes the answer to a response of a ward, and what the proxy said if it refused it.
func (st *stream) examined(r *response, refused bool, said string) {
	s := st.set
	switch {
	case s.ward != r.ward:
		st.speaks()
	case r.slot != nil:
		s.heard(r.slot, refused, said)
	case refused:
		s.unopened()
	}
}

// overdue ends the search of a proxy that says nothing of the ward any more.
func (st *stream) overdue() {
	w := st.set.ward
	switch {
	case w == nil || w.driver != st || !w.opened || len(w.next) > 0: // what is next is sent in this step
	case st.now.Before(w.at.Add(answerTime)):
		st.later(w.at.Add(answerTime))
	default:
		st.silences++
		w.silent = st.silences < mostSilences
		st.silent = w
		st.set.unopened()
	}
}

// speaks takes what comes too late of a ward, or the end of the stream: the proxy is there again or gone, so what its silence decided is tried again.
func (st *stream) speaks() {
	w := st.silent
	st.silent = nil
	if w == nil || !w.silent {
		return
	}
	for _, e := range slices.SortedFunc(maps.Keys(w.inquests), byEntryName) {
		if e.refused != nil && e.refusedBy == st.who() {
			st.set.tryAgain(e)
		}
	}
}

// unopened ends a search for which the proxy takes no ward: nobody more is heard alone.
func (s *set) unopened() {
	w := s.ward
	if !w.asked {
		s.cut()
	}
	if s.ward == w {
		w.next = nil
		s.verdict()
	}
}

// isWard tells of a table that a proxy asks for that it is a ward's, and begins when it is the one that is open.
func (st *stream) isWard(n resource.Name) bool {
	if n.Type != resource.Routes || !strings.HasPrefix(n.Name, wardPrefix) {
		return false
	}
	switch w := st.set.ward; {
	case w != nil && w.driver == st && w.name == n.Name && !w.asked:
		st.set.cut()
	case st.silent != nil && st.silent.name == n.Name:
		st.speaks()
	}
	return true
}
