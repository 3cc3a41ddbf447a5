package xds

import (
	"cardea.dev/cardea/internal/core/resource"
)

// refusal is that a proxy refused what it was offered of a resource.
type refusal struct {
	stream         *stream
	refusedVersion *version // that was refused
	current        *version // what the graph said then
	accepted       *version // by that proxy, before; nil if it had nothing
	details        resource.Refusal
}

// suspect is a fragment that is new in a refused resource.
type suspect struct {
	fragment resource.Fragment
	pieces   [][]byte // that are tried; none if it can't be tried
	refused  bool     // alone
	message  string   // of it then
}

// onRefusal takes a proxy's refusal of the offer. Proxies that have nothing are then offered what this proxy has, or
// else what others accepted; proxies that have something keep it. If a proxy refuses that offer too, it keeps what it
// has, and nothing else happens: it is asked again when the resource serves.
func (st *stream) onRefusal(it *item, message string) {
	s, e := st.set, it.entry
	it.refused = e.offer
	if e.state != serving {
		return
	}
	e.refusal = &refusal{
		stream: st, refusedVersion: e.offer, current: e.current, accepted: it.acknowledged,
		details: resource.Refusal{Type: e.name.Type, Name: e.name.Name, Version: st.proxy, Message: message},
	}
	list := s.findSuspects(e, it.acknowledged, e.offer)
	if len(list) == 0 && !s.spec(e.name.Type).Divisible { // nothing differs from what was accepted
		list = s.findSuspects(e, nil, e.offer)
	}
	switch untriable := untriableSuspects(list); {
	case len(untriable) == len(list):
		s.rejectResource(e, list)
	case len(list) == 1:
		s.suspendEntry(e, replacing)
		s.addRejections([]rejectedContent{e.refusal.contentOf(list[0])})
		s.serveEntry(e)
	default:
		s.suspendEntry(e, onTrial)
		s.queue = append(s.queue, e)
		s.openTrial(st.now)
	}
}

// contentOf says of a suspect what was said of the resource.
func (r *refusal) contentOf(x *suspect) rejectedContent {
	return rejectedContent{x.fragment, rejection{details: r.details, proxy: r.stream.proxyID()}}
}

func (s *gatewaySet) suspendEntry(e *entry, to resourceState) {
	s.enterState(e, to)
	base := e.refusal.accepted
	if base == nil {
		base = e.confirmed
	}
	s.setOffer(e, base)
	s.refreshItems(e)
}

// rejectResource has a resource stay as it was accepted, until its content changes. Without suspects no object can be
// told.
func (s *gatewaySet) rejectResource(e *entry, suspects []*suspect) {
	s.suspendEntry(e, rejected)
	if len(suspects) == 0 {
		s.feedback.unattributed = append(s.feedback.unattributed, e.refusal.details)
	}
	s.rejectWithoutSubstitutes(e.refusal, suspects)
}

// rejectWithoutSubstitutes rejects content for which no substitutes come.
func (s *gatewaySet) rejectWithoutSubstitutes(r *refusal, suspects []*suspect) {
	var list []rejectedContent
	for _, x := range suspects {
		c := r.contentOf(x)
		c.noSubstitute = true
		list = append(list, c)
	}
	s.addRejections(list)
}

// findSuspects are the fragments that are new in a version of a resource, without substitutes.
func (s *gatewaySet) findSuspects(e *entry, base, v *version) []*suspect {
	var list []*suspect
	for c := range resource.DiffParts(base.parts(), v.parts()) {
		if c.New == nil {
			continue
		}
		var pieces map[resource.Origin][][]byte
		for _, f := range newFragments(c.Old, c.New) {
			if pieces == nil && s.spec(e.name.Type).Divisible {
				pieces = s.Trials.SplitPieces(e.name.Type, c.New)
			}
			list = append(list, &suspect{fragment: f, pieces: pieces[f.Origin]})
		}
	}
	return list
}

func untriableSuspects(list []*suspect) (rest []*suspect) {
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
