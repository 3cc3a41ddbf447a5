package files

import (
	"cardea.dev/cardea/internal/model"
)

// Older lists the objects of which an older version serves than the one in the files, which can't be read or has a
// mistake, with the place of that.
func (f *Folder) Older() map[model.ObjectRef]Place {
	f.mu.Lock()
	defer f.mu.Unlock()
	older := map[model.ObjectRef]Place{}
	add := func(d *document, at Place, all bool) {
		for i := range d.items {
			it := &d.items[i]
			if it.object != nil && (all || it.stale()) && f.winners[it.ref()] == it {
				older[it.ref()] = at
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
	return older
}
