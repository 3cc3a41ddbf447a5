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
const firstAnswerTimeout = 5 * time.Second

// demandIndex is what is read because something refers to it, and may, each by a watch of its own. There are three
// answers: it is there, it is absent, and it can't be read. An object that was read once stays as it was when it can't
// be read any more.
type demandIndex struct {
	objects map[model.ObjectRef]*demand
	byUser  map[model.ObjectRef][]model.ObjectRef // who refers: to what
	// refused are those that name something of another namespace that no ReferenceGrant lets them, by that namespace.
	refused   map[string]map[model.ObjectRef]struct{}
	refusedIn map[model.ObjectRef][]string // the way back: the namespaces under which an object is in refused
	queue     []*demand                    // in the order of their deadlines; some may have been answered
}

type demand struct {
	ref          model.ObjectRef
	users        map[model.ObjectRef]struct{}
	keys         kind.DataKeys // the entries that are read: the most that a user has asked for
	answeredKeys kind.DataKeys // those that the last answer had
	stop         func()
	deadline     time.Time // of the first answer
	state        answerState
	failure      error // why there is no answer yet
	forbidden    bool  // the API server has said that it may not be read
}

// awaitsAnswer says whether an answer is still to come: the first one, or one with the entries that are read by now.
func (w *demand) awaitsAnswer() bool {
	return w.state == pending || w.state == answered && w.answeredKeys < w.keys
}

type answerState uint8

const (
	pending    answerState = iota
	unreadable             // nobody waits for the answer any more: the graph was told why there is none
	answered               // once and for all
)

// demandReferences says what an object refers to, in all its versions that count, by what they name. An object that may
// not be referred to is not read.
func (d *admitter) demandReferences(user model.ObjectRef, versions ...[]kind.Reference) {
	d.demands.clearRefusals(user)
	var list []model.ObjectRef
	keys := map[model.ObjectRef]kind.DataKeys{}
	for _, names := range versions {
		for _, r := range names {
			if k := d.catalog.FindKind(r.To.Kind()); k == nil || k.ReadScope != kind.OnDemand {
				continue
			}
			if !d.grants.mayRead(user, r.To) {
				d.demands.refuseReference(user, r.To.Namespace())
				continue
			}
			if !slices.Contains(list, r.To) {
				list = append(list, r.To)
			}
			keys[r.To] = max(keys[r.To], r.Keys)
		}
	}
	before := d.demands.byUser[user]
	if len(list) == 0 && len(before) == 0 {
		return
	}
	for _, ref := range list {
		d.demandObject(ref, user, keys[ref])
	}
	for _, ref := range before {
		if !slices.Contains(list, ref) {
			d.releaseDemand(ref, user)
		}
	}
	if d.demands.byUser[user] = list; len(list) == 0 {
		delete(d.demands.byUser, user)
	}
}

// refuseReference notes that an object names something of a namespace that it may not. It is asked again with the next
// change of a grant there.
func (w *demandIndex) refuseReference(user model.ObjectRef, namespace string) {
	if w.refused[namespace] == nil {
		w.refused[namespace] = map[model.ObjectRef]struct{}{}
	}
	if _, noted := w.refused[namespace][user]; !noted {
		w.refused[namespace][user] = struct{}{}
		w.refusedIn[user] = append(w.refusedIn[user], namespace)
	}
}

// clearRefusals takes back all that refuse noted of an object: it is gone, or its references are read again.
func (w *demandIndex) clearRefusals(user model.ObjectRef) {
	for _, namespace := range w.refusedIn[user] {
		if delete(w.refused[namespace], user); len(w.refused[namespace]) == 0 {
			delete(w.refused, namespace)
		}
	}
	delete(w.refusedIn, user)
}

// crossNamespaceUsers lists those that name, or would name if they were let, something of a namespace from another one.
func (w *demandIndex) crossNamespaceUsers(namespace string) []model.ObjectRef {
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

// demandObject lets an object be read for a user, with the entries that the user asks for. It begins anew if more is
// asked for than is read: what was read stays meanwhile.
func (d *admitter) demandObject(ref, user model.ObjectRef, keys kind.DataKeys) {
	w, known := d.demands.objects[ref]
	if !known {
		w = &demand{ref: ref, users: map[model.ObjectRef]struct{}{}, stop: func() {}}
		d.demands.objects[ref] = w
	}
	w.users[user] = struct{}{}
	if known && keys <= w.keys {
		return
	}
	w.stop()
	w.keys = max(w.keys, keys)
	w.deadline = d.now.Add(firstAnswerTimeout)
	d.demands.queue = append(d.demands.queue, w)
	w.stop = d.startReading(ref, w.keys)
}

// releaseDemand ends the demand for an object with its last user.
func (d *admitter) releaseDemand(ref, user model.ObjectRef) {
	w := d.demands.objects[ref]
	delete(w.users, user)
	if len(w.users) > 0 {
		return
	}
	w.stop()
	delete(d.demands.objects, ref)
	if w.state == unreadable {
		d.edits = append(d.edits, edit{ref: ref, unread: true})
	}
	w.state, w.answeredKeys = answered, w.keys // nobody asks any more
	d.judgeAgain(w)
	d.dropObject(ref)
}

// isPending says whether a reference is to something that is wanted, and the first answer about it, or about the
// entries that are asked for, is still to be waited for.
func (d *admitter) isPending(r kind.Reference) bool {
	w := d.demands.objects[r.To]
	return w != nil && (w.state == pending || w.state == answered && w.answeredKeys < min(r.Keys, w.keys))
}

// recordAnswer takes what is known of an object that was asked for; nil: it is absent.
func (d *admitter) recordAnswer(ref model.ObjectRef, o *object, keys kind.DataKeys) {
	w := d.demands.objects[ref]
	if w == nil || keys < w.keys {
		return // nobody wants to know that any more
	}
	if w.state == unreadable {
		d.edits = append(d.edits, edit{ref: ref, unread: true})
	}
	w.state, w.answeredKeys = answered, keys
	d.judgeAgain(w)
	if o == nil {
		d.removeObject(ref)
	} else {
		d.setVersion(o)
	}
}

// noteUnreadable takes why an object can't be read. The first reason is the one that is told, since the words differ
// from try to try; but if it may not be read, that is it.
func (d *admitter) noteUnreadable(ref model.ObjectRef, err error) {
	w := d.demands.objects[ref]
	if w == nil || w.state == answered || w.forbidden {
		return
	}
	if w.forbidden = apierrors.IsForbidden(err); w.forbidden {
		why := err.Error()
		if ref.Kind() == model.KindSecret {
			why = kinds.SuggestPermission(why, kinds.SecretsRole, ref.Namespace())
		}
		d.giveUp(w, why)
	} else if w.failure == nil {
		w.failure = err
	}
}

// expireDemands gives up those that have waited long enough.
func (d *admitter) expireDemands() {
	for len(d.demands.queue) > 0 {
		w := d.demands.queue[0]
		if w.awaitsAnswer() && d.now.Before(w.deadline) {
			return
		}
		d.demands.queue = d.demands.queue[1:]
		switch {
		case !w.awaitsAnswer():
		case w.state == answered: // who waits for more entries goes on with those that were read
			w.answeredKeys = w.keys
			d.judgeAgain(w)
		case w.failure != nil:
			d.giveUp(w, w.failure.Error())
		default:
			d.giveUp(w, fmt.Sprintf("the API server did not answer within %v", firstAnswerTimeout))
		}
	}
}

// giveUp tells the graph why an object that is wanted is neither there nor absent. Objects that waited for it
// go on without.
func (d *admitter) giveUp(w *demand, why string) {
	w.state = unreadable
	d.edits = append(d.edits, edit{ref: w.ref, unread: true, why: why})
	d.judgeAgain(w)
}

// judgeAgain has those judged again that waited for an answer.
func (d *admitter) judgeAgain(w *demand) {
	for user := range w.users {
		d.objects.RecheckUnanswered(user, d.now)
	}
	for grant := range d.grants[w.ref.Namespace()] {
		d.objects.RecheckUnanswered(grant, d.now)
	}
}
