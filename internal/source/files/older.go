package files

import (
	"fmt"

	"cardea.dev/cardea/internal/core/model"
)

// OutdatedObjects lists the objects that serve an older version than the one in the files, and says why: that one can't
// be read, has a mistake, or waits for what may be a mistake.
func (f *Folder) OutdatedObjects() map[model.ObjectRef]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	older := map[model.ObjectRef]string{}
	add := func(d *document, at Position, all bool) {
		for i := range d.items {
			it := &d.items[i]
			if it.object != nil && (all || it.isStale()) && f.winners[it.objectRef()] == it {
				older[it.objectRef()] = "the newest version or its file has a mistake: " + at.String()
			}
		}
	}
	for _, fl := range f.files {
		if fl.keptDoc != nil {
			add(fl.keptDoc, Position{File: fl.relPath}, true)
		}
		if fl.problem != "" {
			for _, d := range fl.docs {
				add(d, Position{fl.relPath, fl.line}, true)
			}
		}
	}
	for d := range f.flawedDocs {
		add(d, Position{d.file.relPath, d.line}, false)
	}
	for ref, owner := range f.awaitedOwners() {
		doc := f.winners[ref].doc
		older[ref] = fmt.Sprintf("the newest version waits for %s: %s", owner, Position{doc.file.relPath, doc.line})
	}
	for ref, grant := range f.missingGrants {
		if grant.waitsFor != "" {
			older[ref] = grant.String()
		}
	}
	return older
}
