package members

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// rereadInterval is how often the file is read though nothing was heard: links may lead to folders that are not
// watched.
const rereadInterval = 5 * time.Second

// File is a pool that a file lists.
type File struct {
	Path string
	Log  *slog.Logger
}

// Run tells the pool, and tells it again whenever the file changes, until ctx ends. A file that can't be read at first
// is an error. Later, a mistake is logged, and what was told last stays.
func (f File) Run(ctx context.Context, tell func(Pool)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", f.Path, err)
	}
	defer watcher.Close()
	// The folder is watched, as a file that is replaced is another file.
	if err := watcher.Add(filepath.Dir(f.Path)); err != nil {
		return fmt.Errorf("watch the folder of %s: %w", f.Path, err)
	}
	last, err := os.ReadFile(f.Path)
	if err != nil {
		return fmt.Errorf("read the pool: %w", err)
	}
	pool, err := ParsePool(last)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	tell(pool)
	tick := time.NewTicker(rereadInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
		case err := <-watcher.Errors:
			f.Log.Warn("watching the pool's file failed; it is read anew", "error", err)
		case <-tick.C:
		}
		text, err := os.ReadFile(f.Path)
		if err == nil && bytes.Equal(text, last) {
			continue
		}
		if err == nil {
			last = text
			pool, err = ParsePool(text)
		}
		if err != nil {
			f.Log.Warn("the pool's file can't be used; the endpoints from before stay", "file", f.Path, "error", err)
			continue
		}
		tell(pool)
	}
}
