package lifecycle

import (
	"maps"
	"slices"
	"time"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Hold is how long a version waits at most for what it begins to name, and how long an object that is gone goes on
// being there, since most likely what names it is about to change, or the object is about to come back.
const Hold = 100 * time.Millisecond

// State is what an object is in; see the package.
type State uint8

const (
	Absent State = iota
	Known
	Held
	Unanswered
	Fading
	states = iota
)

// Source tells what has to be known of the versions of its objects.
type Source[V any] interface {
	// ReferencesOf lists what a version names.
	Names(V) []kind.Reference
	// HasPart says whether a reference finds its part in the published version of the object that it names, and somebody
	// who serves it. Whether it may be named is not asked.
	Finds(kind.Reference, V) bool
	// IsUnanswered says whether it can't be judged yet what a version names: that is read on demand, or was not read yet,
	// or it is the class that decides which controller the object is for. It waits for as long as this is so.
	Unanswered(model.ObjectRef, V) bool
}

// Objects are all objects of a source. V is the source's own value for a version.
type Objects[V any] struct {
	source Source[V]
	order  func(a, b model.ObjectRef) int
	known  map[model.Kind]map[model.ObjectRef]V // what is published
	waits  [states]map[model.ObjectRef]wait[V]  // an object is in one of them at most: in that of its state
}

// wait is what is kept of an object that is held, unanswered or fading.
type wait[V any] struct {
	state   State
	version V         // the one that waits; of fading none does
	until   time.Time // zero: no end is set yet
}

// New makes Objects without any. The order is that in which they are reported: those that are named before those that
// name them.
func New[V any](source Source[V], order func(a, b model.ObjectRef) int) *Objects[V] {
	o := &Objects[V]{source: source, order: order, known: map[model.Kind]map[model.ObjectRef]V{}}
	for s := Held; s < states; s++ {
		o.waits[s] = map[model.ObjectRef]wait[V]{}
	}
	return o
}

// Arrive takes an object's new version, and says whether it is to be published at once: the source then calls Publish.
// How long an object is held counts from the first version that waited.
func (o *Objects[V]) Arrive(ref model.ObjectRef, v V, now time.Time) (publish bool) {
	w := o.find(ref)
	if w.state == Fading {
		w.until = time.Time{}
	}
	w.version = v
	switch {
	case o.source.Unanswered(ref, v):
		o.enter(ref, w, Unanswered, w.until)
	case o.loses(ref, v):
		o.hold(ref, w, now)
	default:
		return true
	}
	return false
}

// Publish makes a version the one that is published: the object is known. It returns the one before.
func (o *Objects[V]) Publish(ref model.ObjectRef, v V) (before V, was bool) {
	before, was = o.Remove(ref)
	if o.known[ref.Kind()] == nil {
		o.known[ref.Kind()] = map[model.ObjectRef]V{}
	}
	o.known[ref.Kind()][ref] = v
	return before, was
}

// Confirm takes that the published version is the newest one: the version that waits is taken back, or the object that
// fades is there again.
func (o *Objects[V]) Confirm(ref model.ObjectRef) {
	if s := o.find(ref).state; s != Absent {
		if delete(o.waits[s], ref); len(o.waits[s]) == 0 {
			o.waits[s] = map[model.ObjectRef]wait[V]{} // there may have been very many
		}
	}
}

// Fade takes that an object was deleted at its source, where it may stay published until a time, now.Add(Hold) as a
// rule. One that fades already does so until the earlier one.
func (o *Objects[V]) Fade(ref model.ObjectRef, until time.Time) {
	if _, known := o.Known(ref); !known {
		o.Confirm(ref)
	} else if w := o.find(ref); w.state != Fading || until.Before(w.until) {
		o.enter(ref, wait[V]{}, Fading, until)
	}
}

// Remove makes an object absent. It returns the version that was published.
func (o *Objects[V]) Remove(ref model.ObjectRef) (before V, was bool) {
	before, was = o.Known(ref)
	o.Confirm(ref)
	delete(o.known[ref.Kind()], ref)
	return before, was
}

// Answered takes that something is known now of what an object refers to.
func (o *Objects[V]) Answered(ref model.ObjectRef, now time.Time) {
	if w, is := o.waits[Unanswered][ref]; is && !o.source.Unanswered(ref, w.version) {
		o.hold(ref, w, now)
	}
}

// Settle reports what has waited until due: for each object that faded, gone is called, which calls Remove, or Fade if
// the object has to wait for longer. Then publish is called, which calls Publish, for each version that was held until
// then, or that now finds all that it names, perhaps by what was published before it.
func (o *Objects[V]) Settle(due time.Time, publish func(model.ObjectRef, V), gone func(model.ObjectRef)) {
	for _, ref := range o.in(Fading) {
		if w, fades := o.waits[Fading][ref]; fades && !due.Before(w.until) {
			o.Confirm(ref)
			gone(ref)
		}
	}
	for again := true; again; {
		again = false
		for _, ref := range o.in(Held) {
			w, held := o.waits[Held][ref]
			switch {
			case !held:
			case o.source.Unanswered(ref, w.version):
				o.enter(ref, w, Unanswered, w.until)
			case !due.Before(w.until) || !o.loses(ref, w.version):
				again = true
				o.Confirm(ref)
				publish(ref, w.version)
			}
		}
	}
}

// Next is when the first object stops being held or fading; zero: never, unless something arrives.
func (o *Objects[V]) Next() (at time.Time) {
	for _, s := range []State{Held, Fading} {
		for _, w := range o.waits[s] {
			if at.IsZero() || w.until.Before(at) {
				at = w.until
			}
		}
	}
	return at
}

// Postpone has all that are held or fading stay so for Hold from now.
func (o *Objects[V]) Postpone(now time.Time) {
	for _, s := range []State{Held, Fading} {
		for ref, w := range o.waits[s] {
			o.waits[s][ref] = wait[V]{s, w.version, now.Add(Hold)}
		}
	}
}

// Known is the version of an object that is published.
func (o *Objects[V]) Known(ref model.ObjectRef) (v V, is bool) {
	v, is = o.known[ref.Kind()][ref]
	return v, is
}

// AllKnown are the published versions of a kind, to be read only.
func (o *Objects[V]) AllKnown(k model.Kind) map[model.ObjectRef]V { return o.known[k] }

// Waiting is the version of an object that waits, if it is held or unanswered.
func (o *Objects[V]) Waiting(ref model.ObjectRef) (v V, is bool) {
	w := o.find(ref)
	return w.version, w.state == Held || w.state == Unanswered
}

// AllWaiting lists the objects that are held or unanswered.
func (o *Objects[V]) AllWaiting() []model.ObjectRef { return append(o.in(Unanswered), o.in(Held)...) }

// Count is how many objects are held, unanswered or fading.
func (o *Objects[V]) Count(s State) int { return len(o.waits[s]) }

// loses says whether an object's new version begins to name something that is not there, with another one published
// meanwhile.
func (o *Objects[V]) loses(ref model.ObjectRef, v V) bool {
	live, known := o.Known(ref)
	if !known {
		return false
	}
	before := o.source.Names(live)
	return slices.ContainsFunc(o.source.Names(v), func(r kind.Reference) bool {
		if slices.Contains(before, r) {
			return false
		}
		to, known := o.Known(r.To)
		return !known || !o.source.Finds(r, to)
	})
}

// find tells how an object waits; its state is absent if it does not.
func (o *Objects[V]) find(ref model.ObjectRef) wait[V] {
	for _, m := range o.waits[Held:] {
		if w, is := m[ref]; is {
			return w
		}
	}
	return wait[V]{}
}

func (o *Objects[V]) hold(ref model.ObjectRef, w wait[V], now time.Time) {
	if w.until.IsZero() {
		w.until = now.Add(Hold)
	}
	o.enter(ref, w, Held, w.until)
}

func (o *Objects[V]) enter(ref model.ObjectRef, w wait[V], s State, until time.Time) {
	o.Confirm(ref)
	o.waits[s][ref] = wait[V]{s, w.version, until}
}

// in lists the objects that wait in a state.
func (o *Objects[V]) in(s State) []model.ObjectRef {
	return slices.SortedFunc(maps.Keys(o.waits[s]), o.order)
}
