package ledgerlive

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

// An edit of an object may break others: a Gateway's listener, without the Secret of its certificate. Cardea reports
// that as a finding on the other object. An error is attributed to a change if it came between two looks while the
// graph took only this change and answers of proxies. If it took more, the error is attributed to none.

// errorTracker is the point up to which errors were looked at, and the changes that they are attributed to. Only look
// uses it.
type errorTracker struct {
	errors  *world.FindingFollower
	until   flow.Rev
	brought map[int64][]model.Finding // by change, as long as one of them stands
}

// newErrors are the errors that came since the last look. The first look has none: nobody knows which changes brought
// them.
func (l *errorTracker) newErrors(v flow.View) (list []model.Finding, from flow.Rev) {
	from, l.until = l.until, v.Rev()
	come, _ := l.errors.Changes(v)
	if from == 0 {
		return nil, from
	}
	return slices.DeleteFunc(come, func(f model.Finding) bool { return !isWrong(f) }), from
}

// attributeErrors finds the change that brought errors. It must not be called in a View.
func (l *errorTracker) attributeErrors(g *flow.Graph, news []model.Finding, from flow.Rev) {
	number, others := int64(0), false
	for rev := from + 1; rev <= l.until; rev++ {
		turn, known := g.TurnOf(rev)
		if !known {
			return
		}
		for _, cause := range turn.Causes {
			var n int64
			if _, err := fmt.Sscanf(cause, "change %d", &n); err != nil { // as feed calls it
				if others = true; cause != "proxies" {
					return
				}
			} else if number != 0 && n != number {
				return
			} else {
				number = n
			}
		}
	}
	for _, f := range news {
		if number != 0 && !(others && ofProxies(f)) {
			l.brought[number] = append(l.brought[number], f)
		}
	}
}

// ofProxies tells whether an error may be what a proxy said.
func ofProxies(f model.Finding) bool {
	return strings.Contains(f.Condition, "Programmed") || f.Reason == "RejectedByProxy"
}

// isWrong: what only waits, as for keys to be fetched, is not wrong.
func isWrong(f model.Finding) bool {
	return f.Severity == model.Error && !strings.HasSuffix(f.Reason, "Pending")
}

// forgetFixed drops the changes that have no error left.
func (l *snapshot) forgetFixed() {
	for number, list := range l.brought {
		if !slices.ContainsFunc(list, l.stillStands) {
			delete(l.brought, number)
		}
	}
}

func (l *snapshot) stillStands(f model.Finding) bool {
	return slices.ContainsFunc(l.World.ReportedFindings(l.View, f.Object), func(now model.Finding) bool {
		return isWrong(now) && now.Message == f.Message
	})
}

// describeBroken is what an object's change broke of others, in words. A change that edited these is refused by their
// own.
func (l *snapshot) describeBroken(o ledger.Object) string {
	var words []string
	for _, f := range l.brought[o.Change] {
		if edited, is := l.objects[f.Object]; !(is && edited.Change == o.Change) && l.stillStands(f) {
			words = append(words, f.Object.String()+": "+f.Describe())
		}
	}
	return strings.Join(words, "; ")
}
