package files

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
)

// A Gateway of a class that does not exist is nobody's. If it was somebody's, its class is most likely mistyped, and
// closing its ports would be the worst of answers: so the version before stays until the class is there or the mistake
// is mended. In a cluster the Gateway's finalizer does the same.

// orphaned is the object that an object's version names as its owner and that is not there; zero if there is none.
func (f *Folder) orphaned(o *object) model.ObjectRef {
	owner := f.catalog.Of(o.Ref.Kind()).Owner
	if owner == nil {
		return model.ObjectRef{}
	}
	ref := owner.Of(o.Spec)
	if _, known := f.life.Known(ref); known {
		return model.ObjectRef{}
	}
	return ref
}

// Unanswered implements lifecycle.Source: nobody says which controller the version is for, and the one before is for a
// known one.
func (f versions) Unanswered(ref model.ObjectRef, o *object) bool {
	live, known := f.life.Known(ref)
	return known && f.orphaned(o) != (model.ObjectRef{}) && f.orphaned(live) == (model.ObjectRef{})
}

// answer asks again about the versions that wait for their owner.
func (m *merge) answer() {
	if m.life.Count(lifecycle.Unanswered) == 0 {
		return
	}
	for _, ref := range m.life.AllWaiting() {
		m.life.Answered(ref, m.now)
	}
}

// orphans adds the problems of objects with a newest version that belongs to nobody.
func (f *Folder) orphans(all map[ProblemKey]Problem, add func(Problem)) {
	for ref, owner := range f.ownerless() {
		doc := f.winners[ref].doc
		add(Problem{
			File: doc.file.path, Line: doc.line, Object: ref.String(), Ref: ref,
			Field: f.catalog.Of(ref.Kind()).Owner.Field, Message: f.absent(owner, all), Stale: true,
		})
	}
}

// ownerless are the objects with a newest version that waits for its owner, with that owner.
func (f *Folder) ownerless() map[model.ObjectRef]model.ObjectRef {
	list := map[model.ObjectRef]model.ObjectRef{}
	if f.life.Count(lifecycle.Unanswered) == 0 {
		return list
	}
	for _, ref := range f.life.AllWaiting() {
		if waiting, _ := f.life.Waiting(ref); (versions{f}).Unanswered(ref, waiting) {
			list[ref] = f.orphaned(waiting)
		}
	}
	return list
}

// absent says why an object is not there, and which one may have been meant.
func (f *Folder) absent(ref model.ObjectRef, all map[ProblemKey]Problem) string {
	var places []string
	for _, p := range all {
		if p.Ref == ref && p.Severity == model.Error {
			places = append(places, Place{p.File, p.Line}.String())
		}
	}
	if len(places) > 0 {
		return fmt.Sprintf("%s is in %s, but has a mistake", ref, slices.Min(places))
	}
	var names []string
	for other := range f.life.AllKnown(ref.Kind()) {
		names = append(names, other.Name())
	}
	slices.Sort(names)
	return fmt.Sprintf("%s does not exist%s", ref, model.Meant(ref.Name(), names))
}
