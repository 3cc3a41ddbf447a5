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

// pendingFeedback collects what the graph should be told after a step.
type pendingFeedback struct {
	acked   map[resource.AckKey]uint64
	removed map[resource.AckKey]struct{}
	refused map[resource.RefusalKey]resource.Refusal
	ended   map[resource.RefusalKey]struct{} // refusals
	proxies *resource.ProxySummary

	trials       []trialResult
	unattributed []resource.Refusal // for which no object can be told
}

func (n *pendingFeedback) isEmpty() bool {
	return len(n.acked)+len(n.removed)+len(n.refused)+len(n.ended)+len(n.trials)+len(n.unattributed) == 0 &&
		n.proxies == nil
}

// putAndDelete adds a key to one map, and removes it from another one that says the opposite.
func putAndDelete[K comparable, V, W any](to *map[K]V, from map[K]W, k K, v V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[k] = v
	delete(from, k)
}

func (n *pendingFeedback) addAck(k resource.AckKey, hash uint64) {
	putAndDelete(&n.acked, n.removed, k, hash)
}
func (n *pendingFeedback) removeAck(k resource.AckKey) {
	putAndDelete(&n.removed, n.acked, k, struct{}{})
}
func (n *pendingFeedback) addRefusal(k resource.RefusalKey, said resource.Refusal) {
	putAndDelete(&n.refused, n.ended, k, said)
}
func (n *pendingFeedback) endRefusal(k resource.RefusalKey) {
	putAndDelete(&n.ended, n.refused, k, struct{}{})
}

func (s *gatewaySet) resourceKey(e *entry) resource.Key {
	return resource.Key{Gateway: s.gateway, Type: e.name.Type, Name: e.name.Name}
}

func (s *gatewaySet) ackKey(e *entry, f resource.Fragment) resource.AckKey {
	return resource.AckKey{Resource: s.resourceKey(e), Origin: f.Origin, Variant: f.Variant}
}

// countPart counts what a part names and holds in (1) or out (-1). A fragment that is in no part any more takes its row
// along.
func (s *gatewaySet) countPart(e *entry, p *resource.Part, by int) {
	for _, n := range p.Needs {
		if s.needs[n] += by; s.needs[n] == 0 {
			delete(s.needs, n)
		}
	}
	for _, f := range p.Fragments {
		k := keyOf(e, f.Origin, f.Variant)
		if s.fragments[k] += by; s.fragments[k] == 0 {
			delete(s.fragments, k)
			s.feedback.removeAck(s.ackKey(e, f))
		}
	}
}

// eachCountingStream calls f for each stream with acknowledgements that count: each that took a whole configuration, or
// all while there is none such.
func (s *gatewaySet) eachCountingStream(f func(*stream)) {
	whole := false
	for st := range s.streams {
		whole = whole || st.hasWhole
	}
	for st := range s.streams {
		if st.hasWhole == whole {
			f(st)
		}
	}
}

// confirmAcked tells which fragments all counting proxies acknowledged by now, as they are current.
func (s *gatewaySet) confirmAcked(e *entry) {
	var all []*version
	s.eachCountingStream(func(st *stream) {
		if v, uses := st.acceptedVersion(e); uses {
			all = append(all, v)
		}
	})
	if len(all) == 0 || slices.Contains(all, nil) {
		return
	}
	oldest := slices.MinFunc(all, func(a, b *version) int { return cmp.Compare(a.seq, b.seq) })
	if e.unreported = slices.DeleteFunc(e.unreported, func(id string) bool {
		return s.reportPart(e, id,
			all)
	}); len(e.unreported) == 0 {
		e.unreported = nil // most are never edited: their memory is given back
	}
	if e.confirmed != nil && oldest.seq <= e.confirmed.seq {
		return
	}
	if e.confirmed == nil && e.name.Type == s.tables {
		s.feedback.addAck(resource.TableAckKey(s.resourceKey(e)), 0) // until then proxies keep its listeners closed
	}
	s.setConfirmed(e, oldest)
	if e.offer == oldest {
		delete(s.unconfirmed, e)
	}
}

// reportPart makes the rows of a part, if all have it as it is now.
func (s *gatewaySet) reportPart(e *entry, id string, all []*version) bool {
	p := e.current.part(id)
	if p == nil {
		return true
	}
	for _, v := range all {
		if q := v.part(id); v != e.current && (q == nil || !resource.EqualParts(p, q)) {
			return false
		}
	}
	for _, f := range p.Fragments {
		if !f.Refused {
			s.feedback.addAck(s.ackKey(e, f), f.Hash)
		}
	}
	return true
}

// recountProxies looks again at everything that waits for a proxy: one came, left, or began to count.
func (s *gatewaySet) recountProxies() {
	for e := range s.unconfirmed {
		s.confirmAcked(e)
	}
	p := resource.ProxySummary{Connected: len(s.streams)}
	for st := range s.streams {
		if st.hasWhole {
			p.Acknowledged++
		}
		if p.Version == "" || isOlder(st.proxy, p.Version) {
			p.Version = st.proxy
		}
	}
	s.feedback.proxies = &p
}

func isOlder(a, b string) bool {
	numbers := func(v string) (n [3]int) {
		fmt.Sscanf(v, "%d.%d.%d", &n[0], &n[1], &n[2])
		return n
	}
	x, y := numbers(a), numbers(b)
	return slices.Compare(x[:], y[:]) < 0
}
