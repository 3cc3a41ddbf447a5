package files

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
	"cardea.dev/cardea/internal/source/synthetic"
	"cardea.dev/cardea/internal/source/validcache"
)

// look says what to look at.
type look struct {
	all   bool                // list the folder and read what changed by its stat
	paths map[string]struct{} // read these, whatever their stat says
}

// reading is a file that was read anew in this look.
type reading struct {
	file   *file
	info   fs.FileInfo
	chunks []chunk
	matched
}

// refresh looks at the folder and publishes, in one turn of the graph, what changed.
func (f *Folder) refresh(l look) {
	if !f.loaded {
		if err := f.memory.Load(); err != nil {
			f.log.Warn("the memory of valid documents is of no use", "error", err)
		}
	}
	l.all = l.all || f.overdue(f.now()) // nobody stops waiting before the folder was asked once more
	paths := f.candidates(l)
	var readings []reading
	var jobs []*job
	var gone []string
	for _, path := range paths {
		r, state := f.read(path)
		switch state {
		case readNew:
			jobs = append(jobs, r.jobs...)
			readings = append(readings, r.reading)
		case readGone:
			gone = append(gone, path)
		}
	}
	each(jobs, f.check)
	if f.refill.coming && slices.ContainsFunc(readings, func(r reading) bool { return f.files[r.file.path] == nil }) {
		f.life.Postpone(f.now()) // more may come
	}
	f.commit(readings, append(gone, f.vanished(l)...), l.all)
}

// overdue says that an object has been without its text, or its new version without what it names, for long enough.
func (f *Folder) overdue(now time.Time) bool {
	at := f.life.Next()
	return !at.IsZero() && !now.Before(at.Add(f.extra()))
}

// extra is how much longer everything waits while a file is being written, for it may bring what is waited for.
func (f *Folder) extra() time.Duration {
	if len(f.unsettled) > 0 {
		return patience
	}
	return 0
}

// candidates lists the files to read in this look.
func (f *Folder) candidates(l look) []string {
	paths := maps.Clone(l.paths)
	if paths == nil {
		paths = map[string]struct{}{}
	}
	for path := range f.unsettled {
		paths[path] = struct{}{}
	}
	if l.all {
		f.relist(paths)
	}
	if _, err := os.Stat(f.path()); err != nil {
		f.unread = err
	}
	if f.unread != nil {
		return nil
	}
	return sortedPaths(paths)
}

// relist walks the folder and adds files with a changed stat.
func (f *Folder) relist(paths map[string]struct{}) {
	listing, err := list(f.root)
	if err == nil {
		listing.hides(maps.Keys(f.files))
		err = f.refill.listed(listing, f.unread, f.serves(), f.now())
		f.listing = listing
	}
	if err == nil && f.unread != nil {
		f.life.Postpone(f.now()) // the folder is back, perhaps not yet whole
		f.missAnew(f.now())
	}
	f.unread = err
	if err != nil {
		return
	}
	for path, info := range listing.files {
		known := f.files[path]
		if known == nil || known.info == nil || !sameStat(known.info, info) {
			paths[path] = struct{}{}
		}
	}
}

// serves says whether there is anything that was read from the folder.
func (f *Folder) serves() bool { return len(f.files) > 0 || f.life.Count(lifecycle.Fading) > 0 }

func sameStat(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// vanished lists files that the last listing does not have any more.
func (f *Folder) vanished(l look) []string {
	if !l.all || f.unread != nil {
		return nil
	}
	var gone []string
	for path := range f.files {
		if _, ok := f.listing.files[path]; !ok && !f.listing.unknown(path) {
			gone = append(gone, path)
		}
	}
	return gone
}

type readState int

const (
	readNew  readState = iota // there is something to merge
	readGone                  // there is no such file
	readLate                  // it is being written: later
)

type newReading struct {
	reading
	jobs []*job
}

// read reads one file and finds out which of its documents are new. Mistakes are noted in the file.
func (f *Folder) read(path string) (newReading, readState) {
	delete(f.unsettled, path)
	fl := f.files[path]
	if fl == nil {
		fl = &file{path: path}
	}
	abs := filepath.Join(f.dir, filepath.FromSlash(path))
	text, info, err := slurp(abs, f.now(), f.loaded)
	switch missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotRegular); {
	case missing && absent(abs):
		return newReading{}, readGone
	case missing:
		return newReading{}, readLate // the listing says that it can't be read
	case errors.Is(err, errUnsettled):
		f.unsettled[path] = struct{}{}
		return newReading{}, readLate
	}
	r := newReading{reading: reading{file: fl, info: info}}
	if err != nil {
		return f.unreadable(r, "the file can't be read: "+reason(err), 0)
	}
	if line := invalidUTF8(text); line > 0 {
		return f.unreadable(r, "the file is not UTF-8 text", line)
	}
	r.chunks = split(path, text)
	r.matched = match(r.chunks, fl)
	known := objectsOf(fl.docs[r.head : len(fl.docs)-r.tail])
	fl.problem, fl.line, fl.hidden = "", 0, false
	// When a file is read for the first time, it is not known which of its documents was edited last.
	edit := &model.Edit{At: info.ModTime(), Where: path, Latest: len(fl.docs) == 0 && len(r.chunks) > 1}
	for _, n := range r.fresh {
		r.jobs = append(r.jobs, &job{chunk: r.chunks[n.at], doc: r.docs[n.at], edit: edit, known: known})
	}
	return r, readNew
}

// unreadable keeps what was last read of a file.
func (f *Folder) unreadable(r newReading, problem string, line int) (newReading, readState) {
	if strings.HasPrefix(problem, "the file can't be read: the file") {
		problem = strings.TrimPrefix(problem, "the file can't be read: ")
	}
	r.file.problem, r.file.line = problem, line
	r.file.hidden = r.file.hidden || !f.listed.Load()
	r.docs = r.file.docs
	r.head = len(r.docs)
	return r, readNew
}

// objectsOf finds the good objects of a file's Lists by their text.
func objectsOf(docs []*document) map[digest]*object {
	var known map[digest]*object
	for _, d := range docs {
		for i := range d.items {
			it := &d.items[i]
			if it.path() == "" || it.object == nil || it.stale() {
				continue
			}
			if known == nil {
				known = map[digest]*object{}
			}
			known[it.object.digest] = it.object
		}
	}
	return known
}

// commit merges what was read, publishes it, and tells what is wrong. whole: the folder was listed in this look.
func (f *Folder) commit(readings []reading, gone []string, whole bool) {
	f.mu.Lock()
	now, due := f.now(), time.Time{}
	if whole && f.loaded && f.unread == nil {
		due = now.Add(-f.extra())
	}
	m := f.newMerge(now, due)
	if !f.loaded {
		m.touched[synthetic.Class] = struct{}{}
	}
	slices.Sort(gone)
	for _, path := range slices.Compact(gone) {
		if fl := f.files[path]; fl != nil {
			m.replace(fl, matched{}, nil)
			delete(f.files, path)
		}
	}
	for _, r := range readings {
		f.files[r.file.path] = r.file
		r.file.info = r.info
		m.replace(r.file, r.matched, r.chunks)
	}
	m.settle()
	f.refill.coming = f.refill.coming && f.life.Count(lifecycle.Fading) > 0
	f.noteUnlisted()
	before, said := f.said, f.collect()
	f.said = said
	f.mu.Unlock()

	f.stats.published.Add(int64(len(m.edits)))
	f.tellWithdrawn(m.edits)
	f.apply(m.edits, before, said)
	f.tell(before.problems, said.problems)
	f.loaded = true
	if f.unread == nil && !f.listed.Swap(true) {
		f.remember()
	}
}

// noteUnlisted notes what could not be read when the folder was listed first, nor since.
func (f *Folder) noteUnlisted() {
	if !f.listed.Load() {
		f.unlisted = map[string]struct{}{}
		for path := range f.listing.broken {
			f.unlisted[path] = struct{}{}
		}
	}
	maps.DeleteFunc(f.unlisted, func(path string, _ struct{}) bool { return f.listing.broken[path] == nil })
}

// apply makes the edits one turn of the graph.
func (f *Folder) apply(edits []edit, before, now said) {
	if f.loaded && len(edits) == 0 && maps.Equal(before.problems, now.problems) && maps.Equal(before.broken, now.broken) &&
		maps.EqualFunc(before.closed, now.closed, input.Closed.Equal) {
		return
	}
	f.graph.Apply("file", func(b *flow.Batch) {
		publish(b, f.sources, edits)
		f.withdraw(b, edits)
		change(b, f.shown, before.problems, now.problems, same)
		change(b, f.sources.Broken, before.broken, now.broken, same)
		change(b, f.sources.Closed, before.closed, now.closed, input.Closed.Equal)
		if !f.loaded {
			f.sources.Synced(b)
			f.shown.Synced(b)
		}
	})
}

// remember saves which texts are valid, and what they are.
func (f *Folder) remember() {
	if f.unread != nil {
		return
	}
	var good []validcache.Entry
	for _, fl := range f.files {
		for _, d := range fl.docs {
			for i := range d.items {
				if it := &d.items[i]; it.object != nil && !it.stale() {
					good = append(good, validcache.Entry{Digest: it.object.digest, Object: &it.object.Object})
				}
			}
		}
	}
	if err := f.memory.Keep(good); err != nil {
		f.log.Warn("what was validated will be validated again", "error", err)
	}
}
