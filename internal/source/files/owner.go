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

// missingOwner is the object that an object's version names as its owner and that is not there; zero if there is none.
func (f *Folder) missingOwner(o *goodVersion) model.ObjectRef {
	owner := f.catalog.FindKind(o.Ref.Kind()).Owner
	if owner == nil {
		return model.ObjectRef{}
	}
	ref := owner.Of(o.Spec)
	if _, known := f.objects.PublishedVersion(ref); known {
		return model.ObjectRef{}
	}
	return ref
}

// IsUnanswered implements lifecycle.Source: nobody says which controller the version is for, and the one before is for
// a known one.
func (f versionSource) IsUnanswered(ref model.ObjectRef, o *goodVersion) bool {
	live, known := f.objects.PublishedVersion(ref)
	return known && f.missingOwner(o) != (model.ObjectRef{}) && f.missingOwner(live) == (model.ObjectRef{})
}

// recheckOwners asks again about the versions that wait for their owner.
func (m *merge) recheckOwners() {
	if m.objects.Count(lifecycle.Unanswered) == 0 {
		return
	}
	for _, ref := range m.objects.AllWaiting() {
		m.objects.RecheckUnanswered(ref, m.now)
	}
}

// addOrphans adds the problems of objects with a newest version that belongs to nobody.
func (f *Folder) addOrphans(all map[ProblemKey]Problem, add func(Problem)) {
	for ref, owner := range f.awaitedOwners() {
		doc := f.winners[ref].doc
		add(Problem{
			File: doc.file.relPath, Line: doc.line, Object: ref.String(), Ref: ref,
			Field: f.catalog.FindKind(ref.Kind()).Owner.Field, Message: f.describeAbsent(owner, all), Stale: true,
		})
	}
}

// awaitedOwners are the objects with a newest version that waits for its owner, with that owner.
func (f *Folder) awaitedOwners() map[model.ObjectRef]model.ObjectRef {
	list := map[model.ObjectRef]model.ObjectRef{}
	if f.objects.Count(lifecycle.Unanswered) == 0 {
		return list
	}
	for _, ref := range f.objects.AllWaiting() {
		if waiting, _ := f.objects.WaitingVersion(ref); (versionSource{f}).IsUnanswered(ref, waiting) {
			list[ref] = f.missingOwner(waiting)
		}
	}
	return list
}

// describeAbsent says why an object is not there, and which one may have been meant.
func (f *Folder) describeAbsent(ref model.ObjectRef, all map[ProblemKey]Problem) string {
	var places []string
	for _, p := range all {
		if p.Ref == ref && p.Severity == model.Error {
			places = append(places, Position{p.File, p.Line}.String())
		}
	}
	if len(places) > 0 {
		return fmt.Sprintf("%s is in %s, but has a mistake", ref, slices.Min(places))
	}
	var names []string
	for other := range f.objects.PublishedOfKind(ref.Kind()) {
		names = append(names, other.Name())
	}
	slices.Sort(names)
	return fmt.Sprintf("%s does not exist%s", ref, model.SuggestNames(ref.Name(), names))
}
