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
	// safetyNet is how often the folder is listed though nothing was heard.
	safetyNet = 10 * time.Second
	// retry is how soon a file that is being written is looked at again: closing it makes no event.
	retry = 5 * time.Millisecond
)

// Run reads the folder and then follows it until ctx ends.
func (f *Folder) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the folder: %w", err)
	}
	defer watcher.Close()
	w := &watch{Folder: f, watcher: watcher, watched: map[string]bool{}}
	w.add(filepath.Dir(f.path()), f.dir)
	next := look{all: true}
	for {
		f.refresh(next)
		// A folder that is watched only now may have changed since it was listed.
		if next.all && w.add(f.listing.dirs...) {
			continue
		}
		next = look{}
		if err := w.wait(ctx, &next); err != nil {
			f.remember()
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
	watcher *fsnotify.Watcher
	watched map[string]bool
	deaf    bool // some folder could not be watched
}

// add watches folders, those of links' targets included; it reports whether any is new. Watching one again mends a
// watch that was lost when its folder was replaced.
func (w *watch) add(dirs ...string) (added bool) {
	for target := range w.listing.links {
		dirs = append(dirs, filepath.Dir(target))
	}
	for _, dir := range dirs {
		if err := w.watcher.Add(dir); err != nil {
			if !errors.Is(err, os.ErrNotExist) && !w.deaf {
				w.deaf = true
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

// wait blocks until there is something to look at.
func (w *watch) wait(ctx context.Context, next *look) error {
	next.paths = map[string]struct{}{}
	timer := time.NewTimer(w.patience())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Canceled
		case e, ok := <-w.watcher.Events:
			if !ok {
				return errors.New("watch the folder: the watcher ended")
			}
			w.take(e, next)
			w.drain(next)
			if next.all || len(next.paths) > 0 {
				return nil
			}
		case err := <-w.watcher.Errors:
			// Events were lost.
			w.log.Warn("watching the folder failed; it is listed anew", "error", err)
			next.all = true
			return nil
		case <-timer.C:
			next.all = len(w.unsettled) == 0 || w.unread != nil
			return nil
		}
	}
}

// drain takes what else is there by now: a burst is one look.
func (w *watch) drain(next *look) {
	for {
		select {
		case e, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			w.take(e, next)
		default:
			return
		}
	}
}

// patience is how long nothing needs a look.
func (w *watch) patience() time.Duration {
	wait := safetyNet
	if w.deaf || w.unread != nil {
		wait = time.Second
	}
	if len(w.unsettled) > 0 {
		wait = retry
	}
	if w.unread == nil {
		if at := w.life.Next(); !at.IsZero() {
			wait = min(wait, max(0, at.Add(w.extra()).Sub(w.now())))
		}
	}
	return wait
}

// take adds to a look what an event is about.
func (w *watch) take(e fsnotify.Event, next *look) {
	name := filepath.Clean(e.Name)
	if name == w.dir && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) || e.Has(fsnotify.Create)) {
		w.refill.moved = true
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
		next.all = next.all || broken || absent(name) // the link led nowhere, or leads there now
	}
	base := filepath.Base(name)
	rel, err := filepath.Rel(w.dir, name)
	switch {
	case err != nil:
	case rel == "." || strings.HasPrefix(base, ".."):
		// The folder itself, or the swap of a mounted ConfigMap's link.
		next.all = true
	case !w.concerns(rel):
	case w.reads(rel):
		if e.Has(fsnotify.Create) && !plainFile(name) || w.unread != nil {
			next.all = true
			return
		}
		next.paths[filepath.ToSlash(rel)] = struct{}{}
	case w.watched[name] || !plainFile(name):
		next.all = true
	}
}

// plainFile says that a path is neither a folder nor a link. A path that is gone counts as plain: if it was a folder,
// it was watched.
func plainFile(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().IsRegular()
}

func hidden(rel string) bool {
	for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
		if strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}
