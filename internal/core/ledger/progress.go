package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stage is how far a generation of an object got.
type Stage string

// The stages.
const (
	Committed  Stage = "committed"  // it is in the ledger
	IsApplied  Stage = "applied"    // it is in all clusters of its target, and proxies have not answered yet
	IsLive     Stage = "live"       // proxies acknowledged it, or it is applied and proxies have nothing to do with it
	IsRefused  Stage = "refused"    // a cluster or a proxy refused it
	Superseded Stage = "superseded" // a later generation took its place
)

// Progress is how far a generation of an object got.
type Progress struct {
	Key
	Generation int64     `json:"generation"`
	Stage      Stage     `json:"stage"`
	Words      []string  `json:"words,omitempty"`    // in which it was refused
	Waits      []string  `json:"waits,omitempty"`    // what it waits for, unless it is decided
	LiveSince  time.Time `json:"liveSince,omitzero"` // when proxies acknowledged it first; zero: never
	Refused    bool      `json:"refused,omitempty"`  // of one that is superseded: it never was live
}

// String is the stage, and what is worth to be known of one that is over.
func (p Progress) String() string {
	if p.Stage == Superseded && p.Refused {
		return fmt.Sprintf("%s, %s", IsRefused, p.Stage)
	}
	if p.Stage == Superseded && !p.LiveSince.IsZero() {
		return fmt.Sprintf("%s, was live since %s", p.Stage, p.LiveSince.UTC().Format("2006-01-02 15:04:05Z"))
	}
	return string(p.Stage)
}

// IsFinal tells whether nothing more is to be expected.
func (p Progress) IsFinal() bool { return p.Stage != Committed && p.Stage != IsApplied }

// ProgressAt tells how far a generation of the object got.
func (s Status) ProgressAt(generation int64) Progress {
	p := Progress{Key: s.Key, Generation: generation, Stage: Committed, LiveSince: s.LiveSince}
	if max(s.Generation, s.Newest) > generation {
		p.Stage = Superseded
		for _, a := range s.Failures {
			p.Words = append(p.Words, strings.TrimPrefix(a.Code+": "+a.Message, ": "))
			p.Refused = p.Refused || p.LiveSince.IsZero() && (a.Code == ByProxies || a.Code == ByAPIServer)
		}
		return p
	}
	applied := s.Server != Clusters || s.Deleted || len(s.Clusters) > 0
	for _, c := range s.Clusters {
		switch a := c.Applied; {
		case a != nil && a.Code != "" && a.Permanent && s.HasFailed(c.Cluster, a.Code):
			p.Words = append(p.Words, fmt.Sprintf("cluster %s: %s: %s", c.Cluster, a.Code, a.Message))
		case s.Deleted && a == nil && c.Due.IsZero():
		case a == nil || a.Generation < generation || s.Deleted:
			applied = false
		}
	}
	live, refused, waits := s.summarizeAnswers(generation)
	p.Words = append(p.Words, refused...)
	switch {
	case len(p.Words) > 0:
		p.Stage = IsRefused
	case live && applied:
		p.Stage = IsLive
	case s.Server == Clusters && applied && s.Deleted:
		p.Stage = IsLive
	case s.Server == Clusters && applied:
		p.Stage = IsApplied
	}
	if !p.IsFinal() {
		p.Waits = s.waitsFor(generation, waits)
	}
	return p
}

// HasFailed tells whether what failed last in a cluster is about this generation: what is known of an object in a
// cluster stays until the next one was tried.
func (s Status) HasFailed(cluster, code string) bool {
	return slices.ContainsFunc(s.Failures, func(f Failed) bool { return f.Cluster == cluster && f.Code == code })
}

// expectedAnswerers are the names of those that answer for a target, and whether each of them has to: the clusters of a
// target that is applied, and the Cardeas that read another one. If none of these was seen lately, what was said last
// is all that is known.
func (s Status) expectedAnswerers() (names []string, all bool) {
	for _, c := range s.Clusters {
		names = append(names, c.Cluster)
	}
	for _, r := range s.Readers {
		if s.Server == Proxies && !r.Gone {
			names = append(names, r.Name)
		}
	}
	if all = len(names) > 0; all {
		return names, all
	}
	for _, l := range slices.Concat(s.Live, s.Waits) {
		names = append(names, l.Cluster)
	}
	return names, false
}

// LastLive are the answers that each cluster, or standalone Cardea, gave last: all that it said together. Earlier
// answers, also about other Gateways, do not count any more; nor do answers of a Cardea that does not read the target
// any more, while others do.
func (s Status) LastLive() (list []Live) {
	list, _ = s.lastAnswers()
	return list
}

// lastAnswers are the answers that count, and what those wait for who have none yet.
func (s Status) lastAnswers() (answers, waits []Live) {
	last := map[string]time.Time{}
	for _, l := range slices.Concat(s.Live, s.Waits) {
		if l.At.After(last[l.Cluster]) {
			last[l.Cluster] = l.At
		}
	}
	names, _ := s.expectedAnswerers()
	counts := func(l Live) bool {
		return l.At.Equal(last[l.Cluster]) && (s.Server == Clusters || slices.Contains(names, l.Cluster))
	}
	for _, l := range s.Live {
		if counts(l) {
			answers = append(answers, l)
		}
	}
	for _, l := range s.Waits {
		if counts(l) {
			waits = append(waits, l)
		}
	}
	return answers, waits
}

// summarizeAnswers are what proxies said of a generation: whether all acknowledged it, their words if they refused it,
// and what it waits for.
func (s Status) summarizeAnswers(generation int64) (live bool, refused, waits []string) {
	answered, known := map[string]bool{}, map[string]bool{}
	last, waiting := s.lastAnswers()
	for _, l := range last {
		if l.Generation < generation {
			continue
		}
		known[l.Cluster] = true
		switch {
		case l.Refused == "":
			answered[l.Cluster] = true
		case l.Gateway == "":
			refused = append(refused, fmt.Sprintf("%s: %s", l.Cluster, l.Refused))
		default:
			refused = append(refused, fmt.Sprintf("%s: Gateway %s: %s", l.Cluster, l.Gateway, l.Refused))
		}
	}
	slices.Sort(refused)
	for _, l := range waiting {
		if l.Generation >= generation {
			known[l.Cluster] = true
			waits = append(waits, fmt.Sprintf("%s: %s", l.Cluster, l.Waits))
		}
	}
	live = len(answered) > 0 && len(waits) == 0
	names, all := s.expectedAnswerers()
	for _, name := range names {
		live = live && (answered[name] || !all)
		if all && !known[name] && s.Server == Proxies {
			waits = append(waits, name+" has not answered")
		}
	}
	slices.Sort(waits)
	return live, refused, waits
}

// ProgressOf tells how far each object of a change got, by the status of its objects, and how far the change did: as
// far as the object that got least far; refused if one of them is.
func ProgressOf(c Change, list []Status) (Stage, []Progress) {
	byKey := map[Key]Status{}
	for _, s := range list {
		byKey[s.Key] = s
	}
	order := []Stage{IsRefused, Committed, IsApplied, IsLive, Superseded}
	least, all := Superseded, make([]Progress, 0, len(c.Edited))
	for _, e := range c.Edited {
		s, known := byKey[e.Key]
		p := Progress{Key: e.Key, Generation: e.Generation, Stage: IsLive}
		if known {
			p = s.ProgressAt(e.Generation)
		}
		if slices.Index(order, p.Stage) < slices.Index(order, least) {
			least = p.Stage
		}
		all = append(all, p)
	}
	return least, all
}

// DescribeOutcome says what became of a change: how far it got, and of one that is over whether it was refused, and
// which change undid it; 0: none that is known.
func DescribeOutcome(reached Stage, list []Progress, undoneBy int64) string {
	all := Progress{Stage: reached}
	for _, p := range list {
		all.Refused = all.Refused || p.Refused
	}
	return all.DescribeOutcome(undoneBy)
}

// DescribeOutcome says what became of one object of the change.
func (p Progress) DescribeOutcome(undoneBy int64) string {
	if p.Stage == Superseded && p.Refused && undoneBy != 0 {
		return fmt.Sprintf("%s, undone by %d", IsRefused, undoneBy)
	}
	return p.String()
}
