package kube

import (
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// firstAnswerTimeout is how long an object waits for the first answer about what it refers to.
const patience = 5 * time.Second

// wanted is what is read because something refers to it, and may, each by a watch of its own. There are three answers:
// it is there, it is absent, and it can't be read. An object that was read once stays as it was when it can't be read
// any more.
type wanted struct {
	objects map[model.ObjectRef]*demand
	by      map[model.ObjectRef][]model.ObjectRef // who refers: to what
	// refused are those that name something of another namespace that no ReferenceGrant lets them, by that namespace.
	refused   map[string]map[model.ObjectRef]struct{}
	refusedIn map[model.ObjectRef][]string // the way back: the namespaces under which an object is in refused
	asked     []*demand                    // in the order of their deadlines; some may have been answered
}

type demand struct {
	ref       model.ObjectRef
	users     map[model.ObjectRef]struct{}
	keys      kind.Keys // the entries that are read: the most that a user has asked for
	answered  kind.Keys // those that the last answer had
	stop      func()
	deadline  time.Time // of the first answer
	state     answerState
	failure   error // why there is no answer yet
	forbidden bool  // the API server has said that it may not be read
}

// waiting says whether an answer is still to come: the first one, or one with the entries that are read by now.
func (w *demand) waiting() bool {
	return w.state == pending || w.state == answered && w.answered < w.keys
}

type answerState uint8

const (
	pending    answerState = iota
	unreadable             // nobody waits for the answer any more: the graph was told why there is none
	answered               // once and for all
)

// want says what an object refers to, in all its versions that count, by what they name. An object that may not be
// referred to is not read.
func (d *intake) want(user model.ObjectRef, versions ...[]kind.Reference) {
	d.wanted.permit(user)
	var list []model.ObjectRef
	keys := map[model.ObjectRef]kind.Keys{}
	for _, names := range versions {
		for _, r := range names {
			if k := d.catalog.Of(r.To.Kind()); k == nil || k.Reading != kind.OnDemand {
				continue
			}
			if !d.grants.mayRead(user, r.To) {
				d.wanted.refuse(user, r.To.Namespace())
				continue
			}
			if !slices.Contains(list, r.To) {
				list = append(list, r.To)
			}
			keys[r.To] = max(keys[r.To], r.Keys)
		}
	}
	before := d.wanted.by[user]
	if len(list) == 0 && len(before) == 0 {
		return
	}
	for _, ref := range list {
		d.demand(ref, user, keys[ref])
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

// refuse notes that an object names something of a namespace that it may not. It is asked again with the next change of
// a grant there.
func (w *wanted) refuse(user model.ObjectRef, namespace string) {
	if w.refused[namespace] == nil {
		w.refused[namespace] = map[model.ObjectRef]struct{}{}
	}
	if _, noted := w.refused[namespace][user]; !noted {
		w.refused[namespace][user] = struct{}{}
		w.refusedIn[user] = append(w.refusedIn[user], namespace)
	}
}

// permit takes back all that refuse noted of an object: it is gone, or its references are read again.
func (w *wanted) permit(user model.ObjectRef) {
	for _, namespace := range w.refusedIn[user] {
		if delete(w.refused[namespace], user); len(w.refused[namespace]) == 0 {
			delete(w.refused, namespace)
		}
	}
	delete(w.refusedIn, user)
}

// across lists those that name, or would name if they were let, something of a namespace from another one.
func (w *wanted) across(namespace string) []model.ObjectRef {
	users := map[model.ObjectRef]struct{}{}
	maps.Copy(users, w.refused[namespace])
	for to, d := range w.objects {
		if to.Namespace() != namespace {
			continue
		}
		for user := range d.users {
			if user.Namespace() != namespace {
				users[user] = struct{}{}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(users), model.ObjectRef.Compare)
}

// demand lets an object be read for a user, with the entries that the user asks for. It begins anew if more is asked
// for than is read: what was read stays meanwhile.
func (d *intake) demand(ref, user model.ObjectRef, keys kind.Keys) {
	w, known := d.wanted.objects[ref]
	if !known {
		w = &demand{ref: ref, users: map[model.ObjectRef]struct{}{}, stop: func() {}}
		d.wanted.objects[ref] = w
	}
	w.users[user] = struct{}{}
	if known && keys <= w.keys {
		return
	}
	w.stop()
	w.keys = max(w.keys, keys)
	w.deadline = d.now.Add(patience)
	d.wanted.asked = append(d.wanted.asked, w)
	w.stop = d.ask(ref, w.keys)
}

// release ends the demand for an object with its last user.
func (d *intake) release(ref, user model.ObjectRef) {
	w := d.wanted.objects[ref]
	delete(w.users, user)
	if len(w.users) > 0 {
		return
	}
	w.stop()
	delete(d.wanted.objects, ref)
	if w.state == unreadable {
		d.edits = append(d.edits, edit{ref: ref, unread: true})
	}
	w.state, w.answered = answered, w.keys // nobody asks any more
	d.judgeAgain(w)
	d.drop(ref)
}

// unknown says whether a reference is to something that is wanted, and the first answer about it, or about the entries
// that are asked for, is still to be waited for.
func (d *intake) unknown(r kind.Reference) bool {
	w := d.wanted.objects[r.To]
	return w != nil && (w.state == pending || w.state == answered && w.answered < min(r.Keys, w.keys))
}

// answer takes what is known of an object that was asked for; nil: it is absent.
func (d *intake) answer(ref model.ObjectRef, o *object, keys kind.Keys) {
	w := d.wanted.objects[ref]
	if w == nil || keys < w.keys {
		return // nobody wants to know that any more
	}
	if w.state == unreadable {
		d.edits = append(d.edits, edit{ref: ref, unread: true})
	}
	w.state, w.answered = answered, keys
	d.judgeAgain(w)
	if o == nil {
		d.remove(ref)
	} else {
		d.set(o)
	}
}

// failed takes why an object can't be read. The first reason is the one that is told, since the words differ from
// try to try; but if it may not be read, that is it.
func (d *intake) failed(ref model.ObjectRef, err error) {
	w := d.wanted.objects[ref]
	if w == nil || w.state == answered || w.forbidden {
		return
	}
	if w.forbidden = apierrors.IsForbidden(err); w.forbidden {
		why := err.Error()
		if ref.Kind() == model.KindSecret {
			why = kinds.Permit(why, kinds.SecretsRole, ref.Namespace())
		}
		d.giveUp(w, why)
	} else if w.failure == nil {
		w.failure = err
	}
}

// expire gives up those that have waited long enough.
func (d *intake) expire() {
	for len(d.wanted.asked) > 0 {
		w := d.wanted.asked[0]
		if w.waiting() && d.now.Before(w.deadline) {
			return
		}
		d.wanted.asked = d.wanted.asked[1:]
		switch {
		case !w.waiting():
		case w.state == answered: // who waits for more entries goes on with those that were read
			w.answered = w.keys
			d.judgeAgain(w)
		case w.failure != nil:
			d.giveUp(w, w.failure.Error())
		default:
			d.giveUp(w, fmt.Sprintf("the API server did not answer within %v", patience))
		}
	}
}

// giveUp tells the graph why an object that is wanted is neither there nor absent. Objects that waited for it go on
// without.
func (d *intake) giveUp(w *demand, why string) {
	w.state = unreadable
	d.edits = append(d.edits, edit{ref: w.ref, unread: true, why: why})
	d.judgeAgain(w)
}

// judgeAgain has those judged again that waited for an answer.
func (d *intake) judgeAgain(w *demand) {
	for user := range w.users {
		d.life.Answered(user, d.now)
	}
	for grant := range d.grants[w.ref.Namespace()] {
		d.life.Answered(grant, d.now)
	}
}
