package world

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// Findings is what the user should be told about objects, sorted by object.
func (w *World) Findings() (list []model.Finding) {
	w.Graph.View(func(v flow.View) {
		for _, t := range w.told {
			list = append(list, t.all(v)...)
		}
		list = append(list, w.refusals(v)...)
	})
	return sorted(list)
}

// NewFindings are those that the edits of a Try bring; v is its View. One that only moves to another place of its
// object is not new.
func (w *World) NewFindings(v flow.View) (list []model.Finding) {
	for _, t := range w.told {
		before, after := t.staged(v)
		known := map[model.Finding]int{}
		for _, f := range before {
			known[unplaced(f)]++
		}
		for _, f := range after {
			if key := unplaced(f); known[key] > 0 {
				known[key]--
			} else {
				list = append(list, f)
			}
		}
	}
	return sorted(list)
}

// FindingsOf are those about one object.
func (w *World) FindingsOf(ref model.ObjectRef) (list []model.Finding) {
	w.Graph.View(func(v flow.View) { list = w.Seen(v, ref) })
	return list
}

// Seen are those about one object in a View.
func (w *World) Seen(v flow.View, ref model.ObjectRef) (list []model.Finding) {
	for _, t := range w.told {
		list = append(list, t.about(v, ref)...)
	}
	list = append(list, w.refusals(v)...)
	return sorted(slices.DeleteFunc(list, func(f model.Finding) bool { return f.Object != ref }))
}

var index = regexp.MustCompile(`\[\d+\]`)

// unplaced is a finding without its place in lists.
func unplaced(f model.Finding) model.Finding {
	f.Field = index.ReplaceAllString(f.Field, "[]")
	return f
}

func sorted(list []model.Finding) []model.Finding {
	slices.SortStableFunc(list, func(a, b model.Finding) int {
		return cmp.Or(a.Object.Compare(b.Object), strings.Compare(a.Field, b.Field))
	})
	return list
}

// told is a collection whose values have findings.
type told interface {
	all(v flow.View) []model.Finding
	about(v flow.View, ref model.ObjectRef) []model.Finding
	// staged are those of the values that a Try changes, without its edits and with them.
	staged(v flow.View) (before, after []model.Finding)
}

type toldBy[V any] struct {
	c  *flow.Collection[model.ObjectRef, V] // by the object that the findings are about
	of func(V) []model.Finding
}

func reported[S any](c *flow.Collection[model.ObjectRef, plan.Report[S]]) told {
	return toldBy[plan.Report[S]]{c, func(r plan.Report[S]) []model.Finding { return r.Findings }}
}

func (t toldBy[V]) all(v flow.View) (list []model.Finding) {
	for _, value := range flow.All(v, t.c) {
		list = append(list, t.of(value)...)
	}
	return list
}

func (t toldBy[V]) about(v flow.View, ref model.ObjectRef) []model.Finding {
	value, _ := flow.Get(v, t.c, ref)
	return t.of(value)
}

func (t toldBy[V]) staged(v flow.View) (before, after []model.Finding) {
	for change := range flow.Staged(v, t.c) {
		if was, found := flow.Before(v, t.c, change.Key); found {
			before = append(before, t.of(was)...)
		}
		if !change.Deleted {
			after = append(after, t.of(change.Value)...)
		}
	}
	return before, after
}

// refusals tells of what a proxy refused and no report does: Services, and the certificates that backends are shown.
func (w *World) refusals(v flow.View) []model.Finding {
	var list []model.Finding
	for key, refusal := range flow.All(v, w.Feedback.Refused.Collection()) {
		kind, section := key.Origin.Object.Kind(), key.Origin.Section
		if kind == model.KindService || kind == model.KindSecret && section != "" {
			list = append(list, model.Finding{
				Object: key.Origin.Object, Reason: "RejectedByProxy",
				Message: fmt.Sprintf("the proxy of %s refused it: %s", key.Gateway, refusal.Message),
			})
		}
	}
	return list
}
