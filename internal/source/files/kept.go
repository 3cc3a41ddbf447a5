package files

import (
	"maps"
	"slices"

	"cardea.dev/cardea/internal/core/model"
)

// A mistake may hide the name of its object: a kind or a name that is mistyped or another's, a separator that is lost,
// so that one document swallows the next. As long as a file has one that stands for no object that serves, what the
// file declared before and nobody declares now keeps serving. A ReferenceGrant does not for long: it is a permission
// (grants.go).

// keepUndeclared keeps what is gone from a file because of such a mistake.
func (m *merge) keepUndeclared(fl *file, gone map[model.ObjectRef]*goodVersion) {
	if len(gone) == 0 || !m.isUnclear(fl) {
		return
	}
	kept := &document{file: fl}
	for _, ref := range slices.SortedFunc(maps.Keys(gone), model.ObjectRef.Compare) {
		if gone[ref] != nil && ref.Kind() != model.KindReferenceGrant && m.winners[ref] == nil {
			kept.items = append(kept.items, item{doc: kept, object: gone[ref],
				note: &note{ref: ref, label: ref.String(), stale: true, problems: []Problem{{
					Object: ref.String(), Ref: ref, Severity: model.Warning,
					Message: "is not in this file any more, but a mistake in the file may be the cause: the object is served " +
						"unchanged until the mistake is fixed",
				}}}})
		}
	}
	if len(kept.items) > 0 {
		fl.keptDoc = kept
		m.addClaims(kept)
	}
}

func (m *merge) isUnclear(fl *file) bool {
	for other := range m.unclearFiles {
		if other == fl {
			return true
		}
	}
	return false
}

// unclearFiles are the files with a mistake that may be about any of several objects that serve, or about several: two
// documents of one name are such a mistake, too. A file may come more than once.
func (m *merge) unclearFiles(yield func(*file) bool) {
	for _, claims := range m.contested {
		own := map[*file]int{}
		for _, it := range claims {
			if it.isKept() {
				continue
			}
			if own[it.doc.file]++; own[it.doc.file] == 2 && !yield(it.doc.file) {
				return
			}
		}
	}
	for d := range m.flawedDocs {
		if (d.failure != nil ||
			slices.ContainsFunc(d.items, func(it item) bool { return it.object == nil && hasError(&it) })) && !yield(d.file) {
			return
		}
	}
}

// isKept tells whether an item is in no text: any that is goes before it.
func (it *item) isKept() bool { return it.doc.file.keptDoc == it.doc }
