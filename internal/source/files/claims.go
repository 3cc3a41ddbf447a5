package files

import (
	"cmp"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// compareClaims orders items that declare the same object: the first by path and line wins.
func compareClaims(a, b *item) int {
	switch {
	case a.isKept() && !b.isKept():
		return 1
	case b.isKept() && !a.isKept():
		return -1
	}
	return cmp.Or(strings.Compare(a.doc.file.relPath, b.doc.file.relPath), a.doc.line-b.doc.line,
		strings.Compare(a.itemPosition(), b.itemPosition()))
}

// claimsOf lists the items that declare an object.
func (m *merge) claimsOf(ref model.ObjectRef) []*item {
	if several := m.contested[ref]; several != nil {
		return several
	}
	if one := m.winners[ref]; one != nil {
		return []*item{one}
	}
	return nil
}

func (m *merge) setClaims(ref model.ObjectRef, list []*item) {
	delete(m.contested, ref)
	delete(m.winners, ref)
	if len(list) > 0 {
		m.winners[ref] = list[0]
	}
	if len(list) > 1 {
		m.contested[ref] = list
	}
}
