package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// relistInterval is how often the folder is listed though nothing was heard.
	relistInterval = 10 * time.Second
	// unsettledRetry is how soon a file that is being written is looked at again: closing it makes no event.
	unsettledRetry = 5 * time.Millisecond
)

// Run reads the folder and then follows it until ctx ends.
func (f *Folder) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the folder: %w", err)
	}
	defer watcher.Close()
	w := &watch{Folder: f, watcher: watcher, watched: map[string]bool{}}
	w.watchDirs(filepath.Dir(f.absolutePath()), f.dir)
	next := lookRequest{all: true}
	for {
		f.refresh(next)
		// A folder that is watched only now may have changed since it was listed.
		if next.all && w.watchDirs(f.listing.dirs...) {
			continue
		}
		next = lookRequest{}
		if err := w.waitForEvents(ctx, &next); err != nil {
			f.saveCache()
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
	}
}

// watch turns file system events into looks.
type watch struct {
	*Folder
	watcher     *fsnotify.Watcher
	watched     map[string]bool
	unwatchable bool // some folder could not be watched
}

// watchDirs watches folders, those of links' targets included; it reports whether any is new. Watching one again mends
// a watch that was lost when its folder was replaced.
func (w *watch) watchDirs(dirs ...string) (added bool) {
	for target := range w.listing.links {
		dirs = append(dirs, filepath.Dir(target))
	}
	for _, dir := range dirs {
		if err := w.watcher.Add(dir); err != nil {
			if !errors.Is(err, os.ErrNotExist) && !w.unwatchable {
				w.unwatchable = true
				w.log.Warn("a folder can't be watched: changes are seen late", "dir", dir, "error", err)
			}
			delete(w.watched, dir)
			continue
		}
		if !w.watched[dir] {
			w.watched[dir] = true
			added = true
		}
	}
	return added
}

// waitForEvents blocks until there is something to look at.
func (w *watch) waitForEvents(ctx context.Context, next *lookRequest) error {
	next.paths = map[string]struct{}{}
	timer := time.NewTimer(w.nextLookDelay())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Canceled
		case e, ok := <-w.watcher.Events:
			if !ok {
				return errors.New("watch the folder: the watcher ended")
			}
			w.handleEvent(e, next)
			w.drainEvents(next)
			if next.all || len(next.paths) > 0 {
				return nil
			}
		case err := <-w.watcher.Errors:
			// Events were lost.
			w.log.Warn("watching the folder failed; it is listed again", "error", err)
			next.all = true
			return nil
		case <-timer.C:
			next.all = len(w.unsettled) == 0 || w.readErr != nil
			return nil
		}
	}
}

// drainEvents takes what else is there by now: a burst is one look.
func (w *watch) drainEvents(next *lookRequest) {
	for {
		select {
		case e, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			w.handleEvent(e, next)
		default:
			return
		}
	}
}

// nextLookDelay is how long nothing needs a look.
func (w *watch) nextLookDelay() time.Duration {
	wait := relistInterval
	if w.unwatchable || w.readErr != nil {
		wait = time.Second
	}
	if len(w.unsettled) > 0 {
		wait = unsettledRetry
	}
	if w.readErr == nil {
		if at := w.objects.NextDeadline(); !at.IsZero() {
			wait = min(wait, max(0, at.Add(w.extraWait()).Sub(w.now())))
		}
	}
	return wait
}

// handleEvent adds to a look what an event is about.
func (w *watch) handleEvent(e fsnotify.Event, next *lookRequest) {
	name := filepath.Clean(e.Name)
	if name == w.dir && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) || e.Has(fsnotify.Create)) {
		w.refill.rootMoved = true
	}
	if w.watched[name] && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		delete(w.watched, name)
		next.all = true
		return
	}
	// The target may itself stand in the folder, so this is not all.
	for _, rel := range w.listing.links[name] {
		next.paths[rel] = struct{}{}
		_, broken := w.listing.broken[rel]
		next.all = next.all || broken || isAbsent(name) // the link led nowhere, or leads there now
	}
	base := filepath.Base(name)
	rel, err := filepath.Rel(w.dir, name)
	switch {
	case err != nil:
	case rel == "." || strings.HasPrefix(base, ".."):
		// The folder itself, or the swap of a mounted ConfigMap's link.
		next.all = true
	case !w.concernsPath(rel):
	case w.readsFile(rel):
		if e.Has(fsnotify.Create) && !isPlainFile(name) || w.readErr != nil {
			next.all = true
			return
		}
		next.paths[filepath.ToSlash(rel)] = struct{}{}
	case w.watched[name] || !isPlainFile(name):
		next.all = true
	}
}

// isPlainFile says that a path is neither a folder nor a link. A path that is gone counts as plain: if it was a folder,
// it was watched.
func isPlainFile(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().IsRegular()
}

func isHidden(rel string) bool {
	for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
		if strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}
