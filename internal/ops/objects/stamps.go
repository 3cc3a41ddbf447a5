package objects

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// transitionTimes remembers when conditions changed. The pure part knows no clock.
type transitionTimes struct {
	catalog *kind.Catalog
	now     func() time.Time
	seed    maphash.Seed

	mu    sync.Mutex
	times map[model.ObjectRef][]transition
}

// transition is since when a condition has its status, in seconds since 1970. The condition is a hash of where it
// stands, its type and its status.
type transition struct {
	condition uint64
	since     int64
}

func newTransitionTimes(catalog *kind.Catalog, now func() time.Time) *transitionTimes {
	return &transitionTimes{catalog: catalog, now: now, seed: maphash.MakeSeed(),
		times: map[model.ObjectRef][]transition{}}
}

// followReports takes note of what every turn changed, until ctx is done.
func (s *transitionTimes) followReports(ctx context.Context, w *world.World) error {
	followers := map[*kind.Kind]plan.ReportFollower{}
	for _, reports := range w.Reports.Reporters {
		if k := s.catalog.FindKind(reports.Kind()); k != nil && k.Status != nil {
			followers[k] = reports.Follow()
			defer followers[k].Stop()
		}
	}
	for range w.Graph.Watch(ctx) {
		w.Graph.View(func(v flow.View) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for k, f := range followers {
				for ref, report := range f.Changes(v) {
					s.noteReport(k, ref, report)
				}
			}
		})
	}
	return nil
}

// noteReport takes note of a changed report. mu is held.
func (s *transitionTimes) noteReport(k *kind.Kind, ref model.ObjectRef, report plan.ChangedReport) {
	if report.Deleted {
		delete(s.times, ref)
		return
	}
	now, before := s.now().Unix(), s.times[ref]
	var times []transition
	k.Status.Stamp(report.Status, func(where string, conditions []metav1.Condition) []metav1.Condition {
		times = slices.Grow(times, len(conditions))
		for _, c := range conditions {
			id := s.conditionID(where, c)
			times = append(times, transition{id, findSince(before, id, now)})
		}
		return nil
	})
	s.times[ref] = slices.Clip(times)
}

// withTimes is an object's status as reported, with times.
func (s *transitionTimes) withTimes(k *kind.Kind, ref model.ObjectRef, status any) any {
	s.mu.Lock()
	times := s.times[ref]
	s.mu.Unlock()
	now := s.now().Unix()
	return k.Status.Stamp(status, func(where string, conditions []metav1.Condition) []metav1.Condition {
		conditions = slices.Clone(conditions)
		for i, c := range conditions {
			conditions[i].LastTransitionTime = metav1.Unix(findSince(times, s.conditionID(where, c), now), 0)
		}
		return conditions
	})
}

// findSince is the time that is remembered of a condition, or else now.
func findSince(times []transition, condition uint64, now int64) int64 {
	for _, m := range times {
		if m.condition == condition {
			return m.since
		}
	}
	return now
}

func (s *transitionTimes) conditionID(where string, c metav1.Condition) uint64 {
	return maphash.Comparable(s.seed, [...]string{where, c.Type, string(c.Status)})
}
