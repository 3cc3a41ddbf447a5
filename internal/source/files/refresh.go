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

// lookRequest says what to look at.
type lookRequest struct {
	all   bool                // list the folder and read what changed by its stat
	paths map[string]struct{} // read these, whatever their stat says
}

// reading is a file that was read anew in this look.
type reading struct {
	file   *file
	info   fs.FileInfo
	chunks []chunk
	documentDiff
}

// refresh looks at the folder and publishes, in one turn of the graph, what changed.
func (f *Folder) refresh(l lookRequest) {
	if !f.loaded {
		if err := f.cache.Load(); err != nil {
			f.log.Warn("the cache of valid documents can't be used", "error", err)
		}
	}
	l.all = l.all || f.isOverdue(f.now()) // nobody stops waiting before the folder was asked once more
	paths := f.candidatePaths(l)
	var readings []reading
	var jobs []*job
	var gone []string
	for _, path := range paths {
		r, state := f.readFile(path)
		switch state {
		case readNew:
			jobs = append(jobs, r.jobs...)
			readings = append(readings, r.reading)
		case readGone:
			gone = append(gone, path)
		}
	}
	runParallel(jobs, f.checkDocument)
	if f.refill.refilling && slices.ContainsFunc(readings,
		func(r reading) bool { return f.files[r.file.relPath] == nil }) {
		f.objects.PostponeAll(f.now()) // more may come
	}
	f.commitReadings(readings, append(gone, f.vanishedPaths(l)...), l.all)
}

// isOverdue says that an object has been without its text, or its new version without what it names, for long enough.
func (f *Folder) isOverdue(now time.Time) bool {
	at := f.objects.NextDeadline()
	return !at.IsZero() && !now.Before(at.Add(f.extraWait()))
}

// extraWait is how much longer everything waits while a file is being written, for it may bring what is waited for.
func (f *Folder) extraWait() time.Duration {
	if len(f.unsettled) > 0 {
		return writerTimeout
	}
	return 0
}

// candidatePaths lists the files to read in this look.
func (f *Folder) candidatePaths(l lookRequest) []string {
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
	if _, err := os.Stat(f.absolutePath()); err != nil {
		f.readErr = err
	}
	if f.readErr != nil {
		return nil
	}
	return sortedPaths(paths)
}

// relist walks the folder and adds files with a changed stat.
func (f *Folder) relist(paths map[string]struct{}) {
	listing, err := listFolder(f.inputPath)
	if err == nil {
		listing.markLostFolders(maps.Keys(f.files))
		err = f.refill.judgeListing(listing, f.readErr, f.servesAny(), f.now())
		f.listing = listing
		f.lookAtOthers()
	}
	if err == nil && f.readErr != nil {
		f.objects.PostponeAll(f.now()) // the folder is back, perhaps not yet whole
		f.resetMissingGrants(f.now())
	}
	f.readErr = err
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

// servesAny says whether there is anything that was read from the folder.
func (f *Folder) servesAny() bool { return len(f.files) > 0 || f.objects.Count(lifecycle.Fading) > 0 }

func sameStat(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// vanishedPaths lists files that the last listing does not have any more.
func (f *Folder) vanishedPaths(l lookRequest) []string {
	if !l.all || f.readErr != nil {
		return nil
	}
	var gone []string
	for path := range f.files {
		if _, ok := f.listing.files[path]; !ok && !f.listing.isUnknown(path) {
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

// readFile reads one file and finds out which of its documents are new. Mistakes are noted in the file.
func (f *Folder) readFile(path string) (newReading, readState) {
	delete(f.unsettled, path)
	fl := f.files[path]
	if fl == nil {
		fl = &file{relPath: path}
	}
	abs := filepath.Join(f.dir, filepath.FromSlash(path))
	text, info, err := readWhole(abs, f.now(), f.loaded)
	switch missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotRegular); {
	case missing && isAbsent(abs):
		return newReading{}, readGone
	case missing:
		return newReading{}, readLate // the listing says that it can't be read
	case errors.Is(err, errUnsettled):
		f.unsettled[path] = struct{}{}
		return newReading{}, readLate
	}
	r := newReading{reading: reading{file: fl, info: info}}
	if err != nil {
		return f.markUnreadable(r, "the file can't be read: "+describeError(err), 0)
	}
	if line := invalidUTF8(text); line > 0 {
		return f.markUnreadable(r, "the file is not UTF-8 text", line)
	}
	r.chunks = splitDocuments(path, text)
	r.documentDiff = matchDocuments(r.chunks, fl)
	known := objectsOf(fl.docs[r.head : len(fl.docs)-r.tail])
	fl.problem, fl.line, fl.neverRead = "", 0, false
	// When a file is read for the first time, it is not known which of its documents was edited last.
	edit := &model.LastEdit{At: info.ModTime(), Where: path, Latest: len(fl.docs) == 0 && len(r.chunks) > 1}
	for _, n := range r.fresh {
		r.jobs = append(r.jobs, &job{chunk: r.chunks[n.at], doc: r.docs[n.at], edit: edit, priorObjects: known})
	}
	return r, readNew
}

// markUnreadable keeps what was last read of a file.
func (f *Folder) markUnreadable(r newReading, problem string, line int) (newReading, readState) {
	if strings.HasPrefix(problem, "the file can't be read: the file") {
		problem = strings.TrimPrefix(problem, "the file can't be read: ")
	}
	r.file.problem, r.file.line = problem, line
	r.file.neverRead = r.file.neverRead || !f.listed.Load()
	r.docs = r.file.docs
	r.head = len(r.docs)
	return r, readNew
}

// objectsOf finds the good objects of a file's Lists by their text.
func objectsOf(docs []*document) map[digest]*goodVersion {
	var known map[digest]*goodVersion
	for _, d := range docs {
		for i := range d.items {
			it := &d.items[i]
			if it.itemPosition() == "" || it.object == nil || it.isStale() {
				continue
			}
			if known == nil {
				known = map[digest]*goodVersion{}
			}
			known[it.object.digest] = it.object
		}
	}
	return known
}

// commitReadings merges what was read, publishes it, and tells what is wrong. whole: the folder was listed in this
// look.
func (f *Folder) commitReadings(readings []reading, gone []string, whole bool) {
	f.mu.Lock()
	now, due := f.now(), time.Time{}
	if whole && f.loaded && f.readErr == nil {
		due = now.Add(-f.extraWait())
	}
	m := f.newMerge(now, due)
	if !f.loaded {
		m.touched[synthetic.Class] = struct{}{}
	}
	slices.Sort(gone)
	for _, path := range slices.Compact(gone) {
		if fl := f.files[path]; fl != nil {
			m.replaceDocuments(fl, documentDiff{}, nil)
			delete(f.files, path)
		}
	}
	for _, r := range readings {
		f.files[r.file.relPath] = r.file
		r.file.info = r.info
		m.replaceDocuments(r.file, r.documentDiff, r.chunks)
	}
	m.settleObjects()
	f.refill.refilling = f.refill.refilling && f.objects.Count(lifecycle.Fading) > 0
	f.noteUnlisted()
	before, said := f.folderReport, f.collectReport()
	f.folderReport = said
	f.mu.Unlock()

	f.stats.published.Add(int64(len(m.edits)))
	f.logWithdrawn(m.edits)
	f.logUnprotected(m.edits)
	f.applyEdits(m.edits, before, said)
	f.reportProblems(before.problems, said.problems)
	f.loaded = true
	if f.readErr == nil && !f.listed.Swap(true) {
		f.saveCache()
	}
}

// noteUnlisted notes what could not be read when the folder was listed first, nor since.
func (f *Folder) noteUnlisted() {
	if !f.listed.Load() {
		f.neverListed = map[string]struct{}{}
		for path := range f.listing.broken {
			f.neverListed[path] = struct{}{}
		}
	}
	maps.DeleteFunc(f.neverListed, func(path string, _ struct{}) bool { return f.listing.broken[path] == nil })
}

// applyEdits makes the edits one turn of the graph.
func (f *Folder) applyEdits(edits []objectEdit, before, now folderReport) {
	if f.loaded && len(edits) == 0 && maps.Equal(before.problems, now.problems) && maps.Equal(before.broken, now.broken) &&
		maps.EqualFunc(before.closed, now.closed, input.ClosedTargets.Equal) {
		return
	}
	f.graph.Apply("file", func(b *flow.Batch) {
		writeEdits(b, f.sources, edits)
		f.noteWithdrawn(b, edits)
		updateSource(b, f.problemSource, before.problems, now.problems, equalValues)
		updateSource(b, f.sources.Broken, before.broken, now.broken, equalValues)
		updateSource(b, f.sources.Closed, before.closed, now.closed, input.ClosedTargets.Equal)
		if !f.loaded {
			f.sources.MarkSynced(b)
			f.problemSource.MarkSynced(b)
		}
	})
}

// saveCache saves which texts are valid, and what they are.
func (f *Folder) saveCache() {
	if f.readErr != nil {
		return
	}
	var good []validcache.Entry
	for _, fl := range f.files {
		for _, d := range fl.docs {
			for i := range d.items {
				if it := &d.items[i]; it.object != nil && !it.isStale() {
					good = append(good, validcache.Entry{Digest: it.object.digest, Object: &it.object.Object})
				}
			}
		}
	}
	if err := f.cache.SaveEntries(good); err != nil {
		f.log.Warn("the cache of valid objects can't be written; they will be validated again", "error", err)
	}
}
