package ledger

import "fmt"

// DescribeUnserved says that nobody is there who could serve the object's target; "": somebody is.
func (s Status) DescribeUnserved() string {
	switch {
	case s.Server == Clusters && len(s.Clusters) == 0:
		return fmt.Sprintf("no cluster serves target %s: `cardea ledger cluster set` registers one", s.Target)
	case s.Server == Proxies && len(s.Live)+len(s.Waits) == 0:
		for _, r := range s.Readers {
			if !r.Gone {
				return ""
			}
		}
		return fmt.Sprintf("no Cardea serves target %s: does `cardea standalone --ledger` run with this ledger?", s.Target)
	}
	return ""
}

// waitsFor says what a generation waits for; proxies is what those wait for that have not answered.
func (s Status) waitsFor(generation int64, proxies []string) (waits []string) {
	if nobody := s.DescribeUnserved(); nobody != "" {
		return []string{nobody}
	}
	answered := map[string]bool{}
	for _, l := range s.LastLive() {
		answered[l.Cluster] = answered[l.Cluster] || l.Generation >= generation && l.Refused == ""
	}
	for _, in := range s.Clusters {
		words := ""
		switch a := in.Applied; {
		case a != nil && a.Code != "" && s.HasFailed(in.Cluster, a.Code):
			words = a.Code + ": " + a.Message
		case a != nil && a.Code == Waiting:
			words = a.Message
		case s.Deleted && a == nil && in.Due.IsZero(): // it is gone
		case in.Attempts == 0 && (a == nil || a.Generation < generation):
			words = "it is not applied yet: does `cardea ledger serve` run, or the cluster's own worker?"
		case a == nil || a.Generation < generation || s.Deleted:
			words = "it is not applied yet"
		case !answered[in.Cluster]:
			words = "its controllers and proxies have not answered yet"
		}
		if words != "" {
			waits = append(waits, fmt.Sprintf("cluster %s: %s", in.Cluster, words))
		}
	}
	if waits = append(waits, proxies...); len(waits) == 0 {
		waits = []string{"its proxies have not answered yet"}
	}
	return waits
}
