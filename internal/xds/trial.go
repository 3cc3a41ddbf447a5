package xds

import (
	"slices"

	"cardea.dev/cardea/internal/resource"
)

// trial finds out which parts of a refused route table are bad, live: Envoy's message names none. The table is composed of
// what the proxy accepted (base) and one group of the changed parts in their new form. An acknowledgement acquits the
// group; a refusal cuts it in halves, and a group of one is bad. So good parts go live while bad ones keep their old form.
// One that has none is closed: it answers an error, since without it its requests would fall to a wider part.
//
// It ends: each answer either moves parts into base, or makes a group smaller, or marks a part. A part that was marked
// before others were acquitted is tried once more at the end, since it may have clashed with an old form of theirs (a host
// that moved from one part to the other). Parts without fragments are nobody's: they always travel in their new form.
type trial struct {
	driver *stream // whose answers decide; nil: of who answers next
	base   *version
	groups [][]string // parts to be tried, by ID; the first one is in the offer
	bad    map[string]*badPart
	passed int // how many answers were acknowledgements
	said   resource.Refusal
	no     map[string]bool // versions that were refused: they need not be sent to know
	closed map[*resource.Part]*resource.Part
}

type badPart struct {
	part   *resource.Part
	passed int // of the trial, when it was refused
	final  bool
	said   resource.Refusal
}

// try starts a trial, or takes a refusal of what it offers.
func (s *set) try(st *stream, e *entry, v, base *version, said resource.Refusal) {
	t := e.trial
	if t != nil && t.driver != nil && t.driver != st && len(t.groups) > 0 {
		return // another proxy decides; this one is asked when that is done
	}
	if t == nil || len(t.groups) == 0 || t.driver != st {
		bad := map[string]*badPart{}
		if t != nil {
			bad = t.bad
		}
		t = &trial{driver: st, base: base, bad: bad, no: map[string]bool{}}
		e.trial = t
		t.regroup(e)
	}
	t.said = said
	t.no[v.res.Version] = true
	if len(t.groups) == 0 {
		// Nothing that can be blamed differs from what was accepted: that stays until the table changes.
		e.trial, e.refused = nil, e.current
		s.offer(e, base)
		return
	}
	t.condemn(e)
	s.proceed(e)
}

// condemn cuts the first group in halves, or marks its only part.
func (t *trial) condemn(e *entry) {
	g, rest := t.groups[0], t.groups[1:]
	if len(g) == 1 {
		t.bad[g[0]] = &badPart{part: e.current.part(g[0]), passed: t.passed, said: t.said}
		t.groups = rest
		return
	}
	half := (len(g) + 1) / 2
	t.groups = append([][]string{g[:half], g[half:]}, rest...)
}

// passed takes an acknowledgement.
func (s *set) passed(st *stream, e *entry, v *version) {
	t := e.trial
	if t == nil {
		if v == e.current {
			s.paroleNext(e)
		}
		return
	}
	if t.driver == nil {
		t.driver = st
	}
	if t.driver != st {
		return
	}
	t.base = v
	t.passed++
	t.regroup(e)
	s.proceed(e)
	if e.trial == nil && v == e.current {
		s.paroleNext(e)
	}
}

// undrive frees the trials that waited for a stream that is gone.
func (s *set) undrive(st *stream) {
	for _, e := range s.entries[resource.Routes] {
		if e.trial != nil && e.trial.driver == st {
			e.trial.driver = nil
		}
	}
}

// retrial goes on with a trial after the table changed.
func (s *set) retrial(e *entry) *version {
	t := e.trial
	for id, b := range t.bad {
		if p := e.current.part(id); p == nil || !same(p, b.part) {
			delete(t.bad, id)
		}
	}
	t.regroup(e)
	if len(t.groups) == 0 && len(t.bad) == 0 {
		e.trial = nil
		if t.base.equal(e.current) {
			s.paroleNext(e) // there is nothing to send, and so no acknowledgement to wait for
		}
		return e.current
	}
	if len(t.groups) == 0 {
		return s.compose(e)
	}
	for v := s.compose(e); ; v = s.compose(e) {
		if len(t.groups) == 0 {
			s.verdict(e)
			return e.offer
		}
		if !t.no[v.res.Version] {
			return v
		}
		t.condemn(e)
	}
}

// regroup drops from the groups what base has by now, and adds what differs and is in none.
func (t *trial) regroup(e *entry) {
	open := map[string]bool{}
	for c := range diff(t.base.parts(), e.current.parts()) {
		if c.new != nil && t.bad[c.new.ID] == nil && len(c.new.Fragments) > 0 {
			open[c.new.ID] = true
		}
	}
	var groups [][]string
	for _, g := range t.groups {
		var keep []string
		for _, id := range g {
			if open[id] {
				keep = append(keep, id)
				delete(open, id)
			}
		}
		if len(keep) > 0 {
			groups = append(groups, keep)
		}
	}
	if len(open) > 0 {
		rest := make([]string, 0, len(open))
		for id := range open {
			rest = append(rest, id)
		}
		slices.Sort(rest)
		groups = append(groups, rest)
	}
	t.groups = groups
}

// proceed offers the next group. When there is none, it tries bad parts again if others were acquitted since, and ends.
// What is known to be refused is not offered: the second half of a bad group, once the first half was acquitted, would make
// the same table again.
func (s *set) proceed(e *entry) {
	t := e.trial
	for {
		if len(t.groups) == 0 {
			t.doubt()
		}
		if len(t.groups) == 0 {
			s.verdict(e)
			return
		}
		v := s.compose(e)
		if !t.no[v.res.Version] {
			s.offer(e, v)
			return
		}
		t.condemn(e)
	}
}

// doubt has a part tried again that was marked before others were acquitted.
func (t *trial) doubt() {
	for _, id := range t.badIDs() {
		if b := t.bad[id]; !b.final && b.passed < t.passed {
			delete(t.bad, id)
			t.groups = [][]string{{id}}
			return
		}
	}
}

func (t *trial) badIDs() []string {
	ids := make([]string, 0, len(t.bad))
	for id := range t.bad {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// verdict ends the search: the changed fragments of bad parts are refused, and the table is offered without these parts
// until the graph gives them another form.
func (s *set) verdict(e *entry) {
	t := e.trial
	var charges []charge
	for _, id := range t.badIDs() {
		b := t.bad[id]
		if b.final {
			continue
		}
		b.final = true
		p := e.current.part(id)
		guilty := newFragments(t.base.part(id), p)
		if len(guilty) == 0 {
			guilty = newFragments(nil, p)
		}
		var keys []resource.RefusalKey
		for _, f := range guilty {
			charges = append(charges, charge{f, b.said})
			keys = append(keys, s.refusalKey(f))
		}
		e.parole.add(keys)
	}
	s.convict(charges)
	if len(t.bad) == 0 {
		e.trial = nil
		s.offer(e, e.current)
	} else {
		s.offer(e, s.compose(e))
	}
	s.askOthers(e)
}

// askOthers has proxies that refused what is offered at the end decide next.
func (s *set) askOthers(e *entry) {
	for st := range s.streams {
		it := st.items[e.name.Type][e.name.Name]
		if it != nil && it.no == e.offer && e.offer != nil {
			s.try(st, e, e.offer, it.has, resource.Refusal{
				Type: e.name.Type, Name: e.name.Name, Version: st.proxy, Message: it.why,
			})
			return
		}
	}
}

// compose mixes the table to offer. It returns the version that is offered already if it would be the same again.
func (s *set) compose(e *entry) *version {
	t := e.trial
	trying := map[string]bool{}
	if len(t.groups) > 0 {
		for _, id := range t.groups[0] {
			trying[id] = true
		}
	}
	var parts []*resource.Part
	for _, p := range e.current.parts() {
		old := t.base.part(p.ID)
		switch {
		case old != nil && same(old, p), trying[p.ID], len(p.Fragments) == 0:
			parts = append(parts, p)
		case old != nil:
			parts = append(parts, old)
		default:
			if c := t.close(e.current, p); c != nil {
				parts = append(parts, c)
			}
		}
	}
	for _, known := range []*version{e.current, t.base, e.offer} {
		if known != nil && slices.EqualFunc(parts, known.parts(), same) {
			return known
		}
	}
	return composed(e.current, parts)
}

// close makes what stands in for a part without an old form, once.
func (t *trial) close(v *version, p *resource.Part) *resource.Part {
	c, ok := t.closed[p]
	if !ok {
		if t.closed == nil {
			t.closed = map[*resource.Part]*resource.Part{}
		}
		c = v.res.Closing.Close(p)
		t.closed[p] = c
	}
	return c
}
