package world

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// FindingFollower tells one reader which findings come and go, as [flow.Follower] does: the work is that of the reports
// that changed. Findings that depend on the time (FindingsAt) are not among them. One goroutine may use it.
type FindingFollower struct {
	world         *World
	reports       []plan.ReportFollower // as Reports.Kinds
	otherFindings *flow.Follower[model.ObjectRef, []model.Finding]
	refused       *flow.Follower[resource.RefusalKey, resource.Refusal]
	// backends: those that nobody answers for
	backends *flow.Follower[plan.BackendKey, model.Backend]
	said     map[any][]model.Finding // what was told last, by what says it; without those that say nothing
}

// FollowFindings begins to follow all findings. It must not be called in a View.
func (w *World) FollowFindings() *FindingFollower {
	f := &FindingFollower{
		world: w, said: map[any][]model.Finding{},
		otherFindings: flow.Follow(w.Reports.OtherFindings), refused: flow.Follow(w.Feedback.Refused.Collection()),
		backends: flow.Follow(w.Plan.Backends),
	}
	for _, k := range w.Reports.Reporters {
		f.reports = append(f.reports, k.Follow())
	}
	return f
}

// Stop stops following. It must not be called in a View.
func (f *FindingFollower) Stop() {
	for _, r := range f.reports {
		r.Stop()
	}
	f.otherFindings.Stop()
	f.refused.Stop()
	f.backends.Stop()
}

// Changes are the findings that came and went from the View of the last call up to v, each list sorted by object. The
// first call gives all that there are. One that only moves to another place of its object did neither.
func (f *FindingFollower) Changes(v flow.View) (come, gone []model.Finding) {
	says := func(key any, now []model.Finding) {
		before := f.said[key]
		if len(before)+len(now) == 0 {
			return
		}
		come, gone = append(come, subtractFindings(now, before)...), append(gone, subtractFindings(before, now)...)
		if f.said[key] = slices.Clone(now); len(now) == 0 {
			delete(f.said, key)
		}
	}
	for _, r := range f.reports {
		for ref, changed := range r.Changes(v) {
			says(ref, changed.Findings)
		}
	}
	type beside struct{ model.ObjectRef }
	for change := range f.otherFindings.Changes(v) {
		says(beside{change.Key}, change.Value)
	}
	for change := range f.refused.Changes(v) {
		var now []model.Finding
		if finding, is := f.world.refusalFinding(change.Key, change.Value); is && !change.Deleted {
			now = append(now, finding)
		}
		says(change.Key, now)
	}
	for change := range f.backends.Changes(v) {
		key, both := change.Key, []model.Finding(nil)
		for _, key.Backend.HTTP2 = range []bool{true, false} { // they say the same
			both = append(both, f.world.noEndpoint(v, key)...)
		}
		says(key, byMessage(both))
	}
	return sortFindings(come), sortFindings(gone)
}

// subtractFindings are the findings of a list that another one does not have, wherever in the object they stand there.
func subtractFindings(list, other []model.Finding) (rest []model.Finding) {
	known := map[model.Finding]int{}
	for _, f := range other {
		known[withoutPlace(f)]++
	}
	for _, f := range list {
		if key := withoutPlace(f); known[key] > 0 {
			known[key]--
		} else {
			rest = append(rest, f)
		}
	}
	return rest
}
