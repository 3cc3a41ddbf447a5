package xds

import (
	"cardea.dev/cardea/internal/core/resource"
)

// refusal is that a proxy refused what it was offered of a resource.
type refusal struct {
	stream   *stream
	version  *version // that was refused
	current  *version // what the graph said then
	accepted *version // by that proxy, before; nil if it had nothing
	said     resource.Refusal
}

// suspect is a fragment that is new in a refused resource.
type suspect struct {
	fragment resource.Fragment
	pieces   [][]byte // that are tried; none if it can't be tried
	refused  bool     // alone
	said     string   // of it then
}

// refuse takes a proxy's refusal of the offer. Proxies that have nothing are then offered what this proxy has, or else
// what others accepted; proxies that have something keep it. If a proxy refuses that offer too, it keeps what it has,
// and nothing else happens: it is asked again when the resource serves.
func (st *stream) refuse(it *item, message string) {
	s, e := st.set, it.entry
	it.refused = e.offer
	if e.state != serving {
		return
	}
	e.refusal = &refusal{
		stream: st, version: e.offer, current: e.current, accepted: it.has,
		said: resource.Refusal{Type: e.name.Type, Name: e.name.Name, Version: st.proxy, Message: message},
	}
	list := s.suspects(e, it.has, e.offer)
	if len(list) == 0 && !s.spec(e.name.Type).Divisible { // nothing differs from what was accepted
		list = s.suspects(e, nil, e.offer)
	}
	switch untriable := withoutPieces(list); {
	case len(untriable) == len(list):
		s.rejectWhole(e, list)
	case len(list) == 1:
		s.suspend(e, replacing)
		s.reject([]content{e.refusal.of(list[0])})
		s.serve(e)
	default:
		s.suspend(e, onTrial)
		s.queue = append(s.queue, e)
		s.openTrial(st.now)
	}
}

// of says of a suspect what was said of the resource.
func (r *refusal) of(x *suspect) content {
	return content{x.fragment, rejection{said: r.said, by: r.stream.who()}}
}

func (s *set) suspend(e *entry, to resourceState) {
	s.enter(e, to)
	base := e.refusal.accepted
	if base == nil {
		base = e.confirmed
	}
	s.offer(e, base)
	s.refile(e)
}

// rejectWhole has a resource stay as it was accepted, until its content changes. Without suspects no object can be
// told.
func (s *set) rejectWhole(e *entry, suspects []*suspect) {
	s.suspend(e, rejected)
	if len(suspects) == 0 {
		s.news.unattributed = append(s.news.unattributed, e.refusal.said)
	}
	s.rejectWholly(e.refusal, suspects)
}

// rejectWholly rejects content for which no substitutes come.
func (s *set) rejectWholly(r *refusal, suspects []*suspect) {
	var list []content
	for _, x := range suspects {
		c := r.of(x)
		c.whole = true
		list = append(list, c)
	}
	s.reject(list)
}

// suspects are the fragments that are new in a version of a resource, without substitutes.
func (s *set) suspects(e *entry, base, v *version) []*suspect {
	var list []*suspect
	for c := range resource.Changes(base.parts(), v.parts()) {
		if c.New == nil {
			continue
		}
		var pieces map[resource.Origin][][]byte
		for _, f := range newFragments(c.Old, c.New) {
			if pieces == nil && s.spec(e.name.Type).Divisible {
				pieces = s.Trials.Pieces(e.name.Type, c.New)
			}
			list = append(list, &suspect{fragment: f, pieces: pieces[f.Origin]})
		}
	}
	return list
}

func withoutPieces(list []*suspect) (rest []*suspect) {
	for _, x := range list {
		if len(x.pieces) == 0 {
			rest = append(rest, x)
		}
	}
	return rest
}

// newFragments are those of a part that its old value does not have, without substitutes.
func newFragments(old, new *resource.Part) []resource.Fragment {
	had := map[resource.Fragment]bool{}
	if old != nil {
		for _, f := range old.Fragments {
			had[f] = true
		}
	}
	var list []resource.Fragment
	for _, f := range new.Fragments {
		if !had[f] && !f.Refused {
			list = append(list, f)
		}
	}
	return list
}
