package kube

import (
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cardea.dev/cardea/internal/arrival"
	"cardea.dev/cardea/internal/model"
)

// patience is how long an object waits for the first answer about what it refers to.
const patience = 5 * time.Second

// wanted is what is read because something refers to it, each by a watch of its own. There are three answers: it is there, it is absent,
// and it can't be read. What was read once stays as it was when it can't be read any more.
type wanted struct {
	objects map[model.ObjectRef]*demand
	open    map[model.ObjectRef]struct{}          // those without an answer
	by      map[model.ObjectRef][]model.ObjectRef // who refers: to what
}

type demand struct {
	users    map[model.ObjectRef]struct{}
	stop     func()
	deadline time.Time // of the first answer
	state    answerState
	failure  error  // why there is no answer
	excused  string // what the graph was told about that
}

type answerState uint8

const (
	unasked   answerState = iota // no answer yet
	forbidden                    // the answer is that there will be none, for now
	answered
)

// want says what an object refers to, in all its versions that count, by what they name.
func (d *desk) want(user model.ObjectRef, versions ...[]arrival.Reference) {
	var list []model.ObjectRef
	for _, names := range versions {
		for _, r := range names {
			if resources[r.To.Kind].demanded && !slices.Contains(list, r.To) {
				list = append(list, r.To)
			}
		}
	}
	before := d.wanted.by[user]
	if len(list) == 0 && len(before) == 0 {
		return
	}
	for _, ref := range list {
		d.ref(ref).users[user] = struct{}{}
	}
	for _, ref := range before {
		if !slices.Contains(list, ref) {
			d.release(ref, user)
		}
	}
	if d.wanted.by[user] = list; len(list) == 0 {
		delete(d.wanted.by, user)
	}
}

// ref is the demand for an object, begun if there was none.
func (d *desk) ref(ref model.ObjectRef) *demand {
	w := d.wanted.objects[ref]
	if w == nil {
		w = &demand{users: map[model.ObjectRef]struct{}{}, deadline: d.now.Add(patience)}
		d.wanted.objects[ref] = w
		d.wanted.open[ref] = struct{}{}
		w.stop = d.ask(ref)
	}
	return w
}

// release ends the demand for an object with its last user.
func (d *desk) release(ref, user model.ObjectRef) {
	w := d.wanted.objects[ref]
	delete(w.users, user)
	if len(w.users) > 0 {
		return
	}
	w.stop()
	delete(d.wanted.objects, ref)
	delete(d.wanted.open, ref)
	if w.excused != "" {
		d.edits = append(d.edits, edit{ref: ref, unread: true})
	}
	d.drop(ref)
}

// unknown says whether an object is wanted and its first answer is still to be waited for.
func (d *desk) unknown(ref model.ObjectRef) bool {
	w := d.wanted.objects[ref]
	return w != nil && w.state == unasked && d.now.Before(w.deadline)
}

// answer takes what is known of an object that was asked for; nil: it is absent.
func (d *desk) answer(ref model.ObjectRef, o *object) {
	w := d.wanted.objects[ref]
	if w == nil {
		return // nobody wants to know any more
	}
	if w.state = answered; w.excused != "" {
		w.excused = ""
		d.edits = append(d.edits, edit{ref: ref, unread: true})
	}
	delete(d.wanted.open, ref)
	if o == nil {
		d.remove(ref)
	} else {
		d.set(o)
	}
}

// unanswered takes why an object can't be read. Of several reasons of one sort the first is told: they differ from try to try.
func (d *desk) unanswered(ref model.ObjectRef, err error) {
	w := d.wanted.objects[ref]
	if w == nil || w.state == answered {
		return
	}
	state := unasked
	if apierrors.IsForbidden(err) {
		state = forbidden
	}
	if w.failure == nil || w.state != state {
		w.state, w.failure = state, err
	}
}

// excuse tells the graph why an object that is wanted is neither there nor absent.
func (d *desk) excuse() {
	for _, ref := range slices.SortedFunc(maps.Keys(d.wanted.open), model.ObjectRef.Compare) {
		w := d.wanted.objects[ref]
		if d.unknown(ref) {
			continue
		}
		why := fmt.Sprintf("the API server did not answer within %v", patience)
		if w.failure != nil {
			why = w.failure.Error()
		}
		if why != w.excused {
			w.excused = why
			d.edits = append(d.edits, edit{ref: ref, unread: true, why: why})
		}
	}
}
