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

// keep keeps what is gone from a file because of such a mistake.
func (m *merge) keep(fl *file, gone map[model.ObjectRef]*object) {
	if len(gone) == 0 || !m.isUnclear(fl) {
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

func (m *merge) isUnclear(fl *file) bool {
	for other := range m.unclear {
		if other == fl {
			return true
		}
	}
	return false
}

// unclear are the files with a mistake that may be about any of several objects that serve, or about several: two
// documents of one name are such a mistake, too. A file may come more than once.
func (m *merge) unclear(yield func(*file) bool) {
	for _, claims := range m.contested {
		own := map[*file]int{}
		for _, it := range claims {
			if it.kept() {
				continue
			}
			if own[it.doc.file]++; own[it.doc.file] == 2 && !yield(it.doc.file) {
				return
			}
		}
	}
	for d := range m.flawed {
		if (d.trouble != nil ||
			slices.ContainsFunc(d.items, func(it item) bool { return it.object == nil && hasError(&it) })) && !yield(d.file) {
			return
		}
	}
}

// kept tells whether an item is in no text: any that is goes before it.
func (it *item) kept() bool { return it.doc.file.kept == it.doc }
