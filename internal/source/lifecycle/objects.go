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
	ListReferences(V) []kind.Reference
	// HasPart says whether a reference finds its part in the published version of the object that it names, and somebody
	// who serves it. Whether it may be named is not asked.
	HasPart(kind.Reference, V) bool
	// IsUnanswered says whether it can't be judged yet what a version names: that is read on demand, or was not read yet,
	// or it is the class that decides which controller the object is for. It waits for as long as this is so.
	IsUnanswered(model.ObjectRef, V) bool
}

// Objects are all objects of a source. V is the source's own value for a version.
type Objects[V any] struct {
	source         Source[V]
	compare        func(a, b model.ObjectRef) int
	known          map[model.Kind]map[model.ObjectRef]V     // what is published
	waitingByState [states]map[model.ObjectRef]waitEntry[V] // an object is in one of them at most: in that of its state
}

// waitEntry is what is kept of an object that is held, unanswered or fading.
type waitEntry[V any] struct {
	state   State
	version V         // the one that waits; of fading none does
	until   time.Time // zero: no end is set yet
}

// New makes Objects without any. The order is that in which they are reported: those that are named before those that
// name them.
func New[V any](source Source[V], order func(a, b model.ObjectRef) int) *Objects[V] {
	o := &Objects[V]{source: source, compare: order, known: map[model.Kind]map[model.ObjectRef]V{}}
	for s := Held; s < states; s++ {
		o.waitingByState[s] = map[model.ObjectRef]waitEntry[V]{}
	}
	return o
}

// AddVersion takes an object's new version, and says whether it is to be published at once: the source then calls
// Publish. How long an object is held counts from the first version that waited.
func (o *Objects[V]) AddVersion(ref model.ObjectRef, v V, now time.Time) (publish bool) {
	w := o.findWait(ref)
	if w.state == Fading {
		w.until = time.Time{}
	}
	w.version = v
	switch {
	case o.source.IsUnanswered(ref, v):
		o.setState(ref, w, Unanswered, w.until)
	case o.losesReference(ref, v):
		o.holdVersion(ref, w, now)
	default:
		return true
	}
	return false
}

// SetPublished makes a version the one that is published: the object is known. It returns the one before.
func (o *Objects[V]) SetPublished(ref model.ObjectRef, v V) (before V, was bool) {
	before, was = o.Remove(ref)
	if o.known[ref.Kind()] == nil {
		o.known[ref.Kind()] = map[model.ObjectRef]V{}
	}
	o.known[ref.Kind()][ref] = v
	return before, was
}

// StopWaiting takes that the published version is the newest one: the version that waits is taken back, or the object
// that fades is there again.
func (o *Objects[V]) StopWaiting(ref model.ObjectRef) {
	if s := o.findWait(ref).state; s != Absent {
		if delete(o.waitingByState[s], ref); len(o.waitingByState[s]) == 0 {
			o.waitingByState[s] = map[model.ObjectRef]waitEntry[V]{} // there may have been very many
		}
	}
}

// Fade takes that an object was deleted at its source, where it may stay published until a time, now.Add(Hold) as a
// rule. One that fades already does so until the earlier one.
func (o *Objects[V]) Fade(ref model.ObjectRef, until time.Time) {
	if _, known := o.PublishedVersion(ref); !known {
		o.StopWaiting(ref)
	} else if w := o.findWait(ref); w.state != Fading || until.Before(w.until) {
		o.setState(ref, waitEntry[V]{}, Fading, until)
	}
}

// Remove makes an object absent. It returns the version that was published.
func (o *Objects[V]) Remove(ref model.ObjectRef) (before V, was bool) {
	before, was = o.PublishedVersion(ref)
	o.StopWaiting(ref)
	delete(o.known[ref.Kind()], ref)
	return before, was
}

// RecheckUnanswered takes that something is known now of what an object refers to.
func (o *Objects[V]) RecheckUnanswered(ref model.ObjectRef, now time.Time) {
	if w, is := o.waitingByState[Unanswered][ref]; is && !o.source.IsUnanswered(ref, w.version) {
		o.holdVersion(ref, w, now)
	}
}

// ReleaseDue reports what has waited until due: for each object that faded, gone is called, which calls Remove, or Fade
// if the object has to wait for longer. Then publish is called, which calls Publish, for each version that was held
// until then, or that now finds all that it names, perhaps by what was published before it.
func (o *Objects[V]) ReleaseDue(due time.Time, publish func(model.ObjectRef, V), gone func(model.ObjectRef)) {
	for _, ref := range o.objectsIn(Fading) {
		if w, fades := o.waitingByState[Fading][ref]; fades && !due.Before(w.until) {
			o.StopWaiting(ref)
			gone(ref)
		}
	}
	for again := true; again; {
		again = false
		for _, ref := range o.objectsIn(Held) {
			w, held := o.waitingByState[Held][ref]
			switch {
			case !held:
			case o.source.IsUnanswered(ref, w.version):
				o.setState(ref, w, Unanswered, w.until)
			case !due.Before(w.until) || !o.losesReference(ref, w.version):
				again = true
				o.StopWaiting(ref)
				publish(ref, w.version)
			}
		}
	}
}

// NextDeadline is when the first object stops being held or fading; zero: never, unless something arrives.
func (o *Objects[V]) NextDeadline() (at time.Time) {
	for _, s := range []State{Held, Fading} {
		for _, w := range o.waitingByState[s] {
			if at.IsZero() || w.until.Before(at) {
				at = w.until
			}
		}
	}
	return at
}

// PostponeAll has all that are held or fading stay so for Hold from now.
func (o *Objects[V]) PostponeAll(now time.Time) {
	for _, s := range []State{Held, Fading} {
		for ref, w := range o.waitingByState[s] {
			o.waitingByState[s][ref] = waitEntry[V]{s, w.version, now.Add(Hold)}
		}
	}
}

// PublishedVersion is the version of an object that is published.
func (o *Objects[V]) PublishedVersion(ref model.ObjectRef) (v V, is bool) {
	v, is = o.known[ref.Kind()][ref]
	return v, is
}

// PublishedOfKind are the published versions of a kind, to be read only.
func (o *Objects[V]) PublishedOfKind(k model.Kind) map[model.ObjectRef]V { return o.known[k] }

// WaitingVersion is the version of an object that waits, if it is held or unanswered.
func (o *Objects[V]) WaitingVersion(ref model.ObjectRef) (v V, is bool) {
	w := o.findWait(ref)
	return w.version, w.state == Held || w.state == Unanswered
}

// AllWaiting lists the objects that are held or unanswered.
func (o *Objects[V]) AllWaiting() []model.ObjectRef {
	return append(o.objectsIn(Unanswered), o.objectsIn(Held)...)
}

// Count is how many objects are held, unanswered or fading.
func (o *Objects[V]) Count(s State) int { return len(o.waitingByState[s]) }

// losesReference says whether an object's new version begins to name something that is not there, with another one
// published meanwhile.
func (o *Objects[V]) losesReference(ref model.ObjectRef, v V) bool {
	live, known := o.PublishedVersion(ref)
	if !known {
		return false
	}
	before := o.source.ListReferences(live)
	return slices.ContainsFunc(o.source.ListReferences(v), func(r kind.Reference) bool {
		if slices.Contains(before, r) {
			return false
		}
		to, known := o.PublishedVersion(r.To)
		return !known || !o.source.HasPart(r, to)
	})
}

// findWait tells how an object waits; its state is absent if it does not.
func (o *Objects[V]) findWait(ref model.ObjectRef) waitEntry[V] {
	for _, m := range o.waitingByState[Held:] {
		if w, is := m[ref]; is {
			return w
		}
	}
	return waitEntry[V]{}
}

func (o *Objects[V]) holdVersion(ref model.ObjectRef, w waitEntry[V], now time.Time) {
	if w.until.IsZero() {
		w.until = now.Add(Hold)
	}
	o.setState(ref, w, Held, w.until)
}

func (o *Objects[V]) setState(ref model.ObjectRef, w waitEntry[V], s State, until time.Time) {
	o.StopWaiting(ref)
	o.waitingByState[s][ref] = waitEntry[V]{s, w.version, until}
}

// objectsIn lists the objects that wait in a state.
func (o *Objects[V]) objectsIn(s State) []model.ObjectRef {
	return slices.SortedFunc(maps.Keys(o.waitingByState[s]), o.compare)
}
