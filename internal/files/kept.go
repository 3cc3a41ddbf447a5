package files

import (
	"maps"
	"slices"

	"cardea.dev/cardea/internal/model"
)

// A mistake may hide whose it is: a kind or a name that is mistyped or another's, a separator that is lost, so that one
// document swallows the next. As long as a file has one that stands for no object that serves, what the file declared
// before and nobody declares now keeps serving. A ReferenceGrant does not: it is a permission, and that is not guessed.

// keep keeps what is gone from a file because of such a mistake.
func (m *merge) keep(fl *file, gone map[model.ObjectRef]*object) {
	if len(gone) == 0 || !m.unclear(fl) {
		return
	}
	kept := &document{file: fl}
	for _, ref := range slices.SortedFunc(maps.Keys(gone), model.ObjectRef.Compare) {
		if gone[ref] != nil && ref.Kind() != model.KindReferenceGrant && m.winners[ref] == nil {
			kept.items = append(kept.items, item{doc: kept, object: gone[ref],
				note: &note{ref: ref, label: ref.String(), stale: true, flaws: []Problem{{
					Object: ref.String(), Ref: ref, Severity: model.Warning,
					Message: "is not in this file any more, which has a mistake that may be about it: until that is mended it is " +
						"served as it was",
				}}}})
		}
	}
	if len(kept.items) > 0 {
		fl.kept = kept
		m.declare(kept)
	}
}

// unclear tells whether a file has a mistake of which nobody can tell which object that serves it is about, or of how
// many: two documents of one name are such a mistake, too.
func (m *merge) unclear(fl *file) bool {
	for _, claims := range m.contested {
		own := 0
		for _, it := range claims {
			if it.doc.file == fl && !it.kept() {
				own++
			}
		}
		if own > 1 {
			return true
		}
	}
	for d := range m.flawed {
		if d.file == fl && (d.trouble != nil ||
			slices.ContainsFunc(d.items, func(it item) bool { return it.object == nil && hasError(&it) })) {
			return true
		}
	}
	return false
}

// kept tells whether an item is in no text: any that is goes before it.
func (it *item) kept() bool { return it.doc.file.kept == it.doc }
