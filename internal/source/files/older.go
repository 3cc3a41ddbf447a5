package files

import (
	"fmt"

	"cardea.dev/cardea/internal/core/model"
)

// Older lists the objects that serve an older version than the one in the files, and says why: that one can't be read,
// has a mistake, or waits for what may be a mistake.
func (f *Folder) Older() map[model.ObjectRef]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	older := map[model.ObjectRef]string{}
	add := func(d *document, at Place, all bool) {
		for i := range d.items {
			it := &d.items[i]
			if it.object != nil && (all || it.stale()) && f.winners[it.ref()] == it {
				older[it.ref()] = "the newest version has a mistake, or its file has: " + at.String()
			}
		}
	}
	for _, fl := range f.files {
		if fl.kept != nil {
			add(fl.kept, Place{File: fl.path}, true)
		}
		if fl.problem != "" {
			for _, d := range fl.docs {
				add(d, Place{fl.path, fl.line}, true)
			}
		}
	}
	for d := range f.flawed {
		add(d, Place{d.file.path, d.line}, false)
	}
	for ref, owner := range f.ownerless() {
		doc := f.winners[ref].doc
		older[ref] = fmt.Sprintf("the newest version waits for %s: %s", owner, Place{doc.file.path, doc.line})
	}
	for ref, grant := range f.missed {
		if grant.until != "" {
			older[ref] = grant.String()
		}
	}
	return older
}
