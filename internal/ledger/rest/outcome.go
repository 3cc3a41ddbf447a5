package rest

import (
	"cmp"
	"strings"

	"cardea.dev/cardea/internal/ledger"
)

// outcome is how far a change got by what became of its objects (ledger.ProgressOf), and why: the words of who refused
// or failed it, or what the first object that is not there yet waits for.
func outcome(c ledger.Change, list []ledger.Status) (stage ledger.Stage, why string) {
	stage, progress := ledger.ProgressOf(c, list)
	for _, p := range progress {
		if p.Stage == stage && stage == ledger.IsRefused {
			return stage, p.Key.String() + ": " + strings.Join(p.Words, "; ")
		}
	}
	for _, p := range progress {
		for _, s := range list {
			if s.Key == p.Key && !p.Decided() {
				return stage, p.Key.String() + " " + waitsFor(s, p.Generation)
			}
		}
	}
	return stage, ""
}

// waitsFor says what a generation of an object waits for: to be tried again where it failed, clusters, or proxies.
func waitsFor(s ledger.Status, generation int64) string {
	waits := ""
	for _, in := range s.Clusters {
		switch a := in.Applied; {
		case a != nil && a.Code != "" && a.Code != ledger.Waiting && s.Failed(in.Cluster, a.Code):
			return "in " + in.Cluster + ": " + a.Message
		case s.Deleted && a == nil && in.Due.IsZero(): // it is gone
		case a == nil || a.Generation < generation || s.Deleted:
			waits = cmp.Or(waits, "waits for cluster "+in.Cluster)
		}
	}
	if waits != "" {
		return waits
	}
	answered := map[string]bool{}
	for _, l := range s.LastLive() {
		answered[l.Cluster] = answered[l.Cluster] || l.Generation >= generation && l.Refused == ""
	}
	for _, in := range s.Clusters {
		if !answered[in.Cluster] {
			return "waits for proxies of cluster " + in.Cluster
		}
	}
	return "waits for proxies"
}
