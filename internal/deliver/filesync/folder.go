package filesync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
)

// Folder is a Store on this machine: below a folder for each Gateway, one with the plain files and one with the keys.
// Only this user may enter them.
type Folder struct {
	Of func(model.ObjectRef) string // the path of a Gateway's folder
}

// Names in the folders. Readers go through the link, which changes from one whole content to the next, the way that
// Kubernetes' volumes do:
//
//	files/..data -> ..1234   the content
const (
	plainDir = "files"
	keysDir  = "keys"
	link     = "..data"
	nextLink = "..data_next"
)

// Folders says where the files are.
func (f Folder) Folders(gateway model.ObjectRef) dataplane.FileFolders {
	return dataplane.FileFolders{
		Dir: filepath.Join(f.Of(gateway), plainDir), Keys: filepath.Join(f.Of(gateway), keysDir),
	}
}

// Location is the folder of the plain files.
func (f Folder) Location(gateway model.ObjectRef) string { return f.Folders(gateway).Dir }

// Read reads all files.
func (f Folder) Read(_ context.Context, gateway model.ObjectRef) (set dataplane.FileSet, at time.Time, err error) {
	start := f.Folders(gateway)
	if set.Plain, at, err = readAll(start.Dir); err != nil {
		return set, at, err
	}
	keys, changed, err := readAll(start.Keys)
	if set.Keys = keys; changed.After(at) {
		at = changed
	}
	return set, at, err
}

func readAll(dir string) (files map[string][]byte, at time.Time, err error) {
	info, err := os.Stat(filepath.Join(dir, link))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, at, nil
	}
	if err != nil {
		return nil, at, fmt.Errorf("read files: %w", err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, link))
	if err != nil {
		return nil, at, fmt.Errorf("read files: %w", err)
	}
	files = map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, link, e.Name())); err != nil {
			return nil, at, fmt.Errorf("read files: %w", err)
		}
	}
	return files, info.ModTime(), nil
}

// Write replaces all files: keys first, since others name them.
func (f Folder) Write(_ context.Context, gateway model.ObjectRef, files dataplane.FileSet, at time.Time) error {
	start := f.Folders(gateway)
	if err := replaceAll(start.Keys, files.Keys, at); err != nil {
		return err
	}
	return replaceAll(start.Dir, files.Plain, at)
}

// Release has proxies close their ports.
func (f Folder) Release(ctx context.Context, gateway model.ObjectRef, files dataplane.FileSet) error {
	if _, err := os.Stat(f.Of(gateway)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.Write(ctx, gateway, files, time.Now())
}

// replaceAll makes the files of a folder these, all at once.
func replaceAll(dir string, files map[string][]byte, at time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	content, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(content, name), text, 0o600); err != nil {
			return fmt.Errorf("write files: %w", err)
		}
	}
	if err := os.Chtimes(content, at, at); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	next := filepath.Join(dir, nextLink)
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write files: %w", err)
	}
	if err := os.Symlink(filepath.Base(content), next); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	if err := os.Rename(next, filepath.Join(dir, link)); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	return removeFormer(dir, filepath.Base(content))
}

// removeFormer removes former contents, also those that a program left which ended in between.
func removeFormer(dir, content string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != content && strings.HasPrefix(e.Name(), "..") {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("write files: %w", err)
			}
		}
	}
	return nil
}
