package ledgercmd

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/ledger"
)

// waitsFor says what a change still waits for, as far as somebody can do something about it: each reason once.
func waitsFor(c ledger.Change, list []ledger.Status) (reasons []string) {
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	for _, s := range list {
		i := slices.IndexFunc(c.Edited, func(e ledger.Edited) bool { return e.Key == s.Key })
		if i < 0 || s.Progress(c.Edited[i].Generation).Decided() {
			continue
		}
		generation := c.Edited[i].Generation
		switch {
		case s.Server == ledger.Proxies && len(s.Live) == 0:
			add("no Cardea has said that it serves target %s: does `cardea standalone --ledger` run with this ledger?",
				s.Target)
		case s.Server == ledger.Proxies:
			add("the proxies have not answered yet")
		case len(s.Clusters) == 0:
			add("no cluster serves target %s: `cardea ledger cluster set` registers one", s.Target)
		}
		for _, in := range s.Clusters {
			switch a := in.Applied; {
			case a != nil && a.Generation >= generation && a.Code == "":
				add("cluster %s has it, and its controllers or proxies have not answered yet", in.Cluster)
			case a != nil && a.Code != "":
				add("cluster %s: %s: %s", in.Cluster, a.Code, a.Message)
			case in.Attempts == 0:
				add("nobody has applied it to cluster %s yet: does `cardea ledger serve` run, or the cluster's own worker?",
					in.Cluster)
			}
		}
	}
	return reasons
}
