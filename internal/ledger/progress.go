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

// Progress is how far a generation of an object got, and in whose words it was refused.
type Progress struct {
	Key
	Generation int64    `json:"generation"`
	Stage      Stage    `json:"stage"`
	Words      []string `json:"words,omitempty"`
}

// Decided tells whether nothing more is to be expected.
func (p Progress) Decided() bool { return p.Stage != Committed && p.Stage != IsApplied }

// Progress tells how far a generation of the object got.
func (s Status) Progress(generation int64) Progress {
	p := Progress{Key: s.Key, Generation: generation, Stage: Committed}
	if max(s.Generation, s.Newest) > generation {
		p.Stage = Superseded
		for _, a := range s.Failures {
			p.Words = append(p.Words, strings.TrimPrefix(a.Code+": "+a.Message, ": "))
		}
		return p
	}
	applied := true
	for _, c := range s.Clusters {
		switch a := c.Applied; {
		case a != nil && a.Code != "" && a.Permanent && s.Failed(c.Cluster, a.Code):
			p.Words = append(p.Words, fmt.Sprintf("cluster %s: %s: %s", c.Cluster, a.Code, a.Message))
		case s.Deleted && a == nil && c.Due.IsZero():
		case a == nil || a.Generation < generation || s.Deleted:
			applied = false
		}
	}
	live, refused := s.answers(generation)
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
	return p
}

// Failed tells whether what failed last in a cluster is about this generation: what is known of an object in a cluster
// stays until the next one was tried.
func (s Status) Failed(cluster, code string) bool {
	return slices.ContainsFunc(s.Failures, func(f Failed) bool { return f.Cluster == cluster && f.Code == code })
}

// LastLive are the answers that each cluster, or standalone Cardea, gave last: all that it said together. What it said
// before, also of other Gateways, does not count any more.
func (s Status) LastLive() (list []Live) {
	last := map[string]time.Time{}
	for _, l := range s.Live {
		if l.At.After(last[l.Cluster]) {
			last[l.Cluster] = l.At
		}
	}
	for _, l := range s.Live {
		if l.At.Equal(last[l.Cluster]) {
			list = append(list, l)
		}
	}
	return list
}

// answers are what proxies said of a generation. Live is what each cluster answered; of a target without clusters, what
// one Cardea did.
func (s Status) answers(generation int64) (live bool, refused []string) {
	answered := map[string]bool{}
	for _, l := range s.LastLive() {
		switch {
		case l.Generation < generation:
		case l.Refused == "":
			answered[l.Cluster] = true
		case l.Gateway == "":
			refused = append(refused, fmt.Sprintf("%s: %s", l.Cluster, l.Refused))
		default:
			refused = append(refused, fmt.Sprintf("%s: Gateway %s: %s", l.Cluster, l.Gateway, l.Refused))
		}
	}
	slices.Sort(refused)
	live = len(answered) > 0
	for _, c := range s.Clusters {
		live = live && answered[c.Cluster]
	}
	return live, refused
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
			p = s.Progress(e.Generation)
		}
		if slices.Index(order, p.Stage) < slices.Index(order, least) {
			least = p.Stage
		}
		all = append(all, p)
	}
	return least, all
}
