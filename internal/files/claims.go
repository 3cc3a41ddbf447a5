package files

import (
	"cmp"
	"strings"

	"cardea.dev/cardea/internal/model"
)

// subject is what is known of one object: which item declares it, and what was published.
type subject struct {
	claim *item   // of several, the one that wins; nil if none does
	live  *object // nil if nothing was
}

// compareClaims orders items that declare the same object: the first by path and line wins.
func compareClaims(a, b *item) int {
	switch {
	case a.kept() && !b.kept():
		return 1
	case b.kept() && !a.kept():
		return -1
	}
	return cmp.Or(strings.Compare(a.doc.file.path, b.doc.file.path), a.doc.line-b.doc.line,
		strings.Compare(a.path(), b.path()))
}

// claims lists the items that declare an object.
func (m *merge) claims(ref model.ObjectRef) []*item {
	if several := m.contested[ref]; several != nil {
		return several
	}
	if one := m.subjects[ref].claim; one != nil {
		return []*item{one}
	}
	return nil
}

func (m *merge) setClaims(ref model.ObjectRef, list []*item) {
	s := subject{live: m.subjects[ref].live}
	delete(m.contested, ref)
	if len(list) > 0 {
		s.claim = list[0]
	}
	if len(list) > 1 {
		m.contested[ref] = list
	}
	m.put(ref, s)
}

func (m *merge) put(ref model.ObjectRef, s subject) {
	if s == (subject{}) {
		delete(m.subjects, ref)
	} else {
		m.subjects[ref] = s
	}
}
