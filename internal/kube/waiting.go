package kube

import (
	"maps"
	"slices"

	"cardea.dev/cardea/internal/model"
)

// waiting is what watches saw of a kind that can't be judged yet: the last of each object, after what is known of all.
// So it does not grow, however long it takes.
type waiting struct {
	all  *event // the kind was listed, or can't be read
	each map[model.ObjectRef]event
}

func (w *waiting) add(e event) {
	ref := e.ref
	switch e.what {
	case isReplaced:
		*w = waiting{all: &e}
		return
	case isUnreadable:
		if w.all == nil {
			w.all = &e
		}
		return
	case isSet:
		ref = e.object.ref
	}
	if w.each == nil {
		w.each = map[model.ObjectRef]event{}
	}
	w.each[ref] = e
}

// take empties it.
func (w *waiting) take() (events []event) {
	if w.all != nil {
		events = append(events, *w.all)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(w.each), model.ObjectRef.Compare) {
		events = append(events, w.each[ref])
	}
	*w = waiting{}
	return events
}
