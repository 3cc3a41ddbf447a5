package rest

import (
	"cardea.dev/cardea/internal/ledger"
)

// The states of a change, from its beginning:
//
//	pending --> applied --> live
//	   |--> failed (in a cluster: tried again; a new state may follow)
//	   '--> refused (by proxies)
const (
	statePending = "pending"
	stateApplied = "applied" // in each cluster; proxies said nothing of it yet
	stateLive    = "live"    // proxies acknowledged every object that they were given
	stateFailed  = "failed"
	stateRefused = "refused"
)

// outcome is the state of a change by what became of its objects, and who says so in which words. An object that a
// later change edited counts for what became of that.
func outcome(c ledger.Change, list []ledger.Status, targets map[string]ledger.Target) (state, why string) {
	live, waits := true, ""
	found := map[ledger.Key]ledger.Status{}
	for _, s := range list {
		found[s.Key] = s
	}
	failed := ""
	for _, e := range c.Edited {
		s, ok := found[e.Key]
		if !ok {
			continue // deleted and gone
		}
		for _, l := range s.LastLive() {
			if l.Generation == e.Generation && l.Refused != "" {
				return stateRefused, e.Key.String() + ": " + l.Refused
			}
		}
		acknowledged := false
		for _, l := range s.LastLive() {
			acknowledged = acknowledged || l.Generation >= e.Generation && l.Refused == ""
		}
		live = live && acknowledged
		if targets[e.Target].Server == ledger.Proxies && !acknowledged && waits == "" {
			waits = e.Key.String() + " waits for proxies"
		}
		for _, in := range s.Clusters {
			a := in.Applied
			switch {
			case a != nil && a.Code != "" && a.Code != ledger.Waiting && s.Failed(in.Cluster, a.Code):
				failed = e.Key.String() + " in " + in.Cluster + ": " + a.Message
			case s.Deleted && a == nil && in.Due.IsZero(): // it is gone
			case (a == nil || a.Generation < e.Generation) && waits == "":
				waits = e.Key.String() + " waits for cluster " + in.Cluster
			}
		}
	}
	switch {
	case failed != "":
		return stateFailed, failed
	case waits != "":
		return statePending, waits
	case live && len(c.Edited) > 0:
		return stateLive, ""
	}
	return stateApplied, ""
}
