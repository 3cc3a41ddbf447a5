package kubelet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// data is the link that a reader goes through: it changes from one whole content to the next.
//
//	volume/..2026_11_21_10_00_00.123/a    the content
//	volume/..data -> ..2026_11_21_...
//	volume/a -> ..data/a
const data = "..data"

// replace makes the content of dir the wanted one, all at once, the way that a kubelet does and watchers of such
// volumes expect.
func replace(dir string, want content, group int) error {
	old, err := os.Readlink(filepath.Join(dir, data))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	whole, err := os.MkdirTemp(dir, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return err
	}
	if err := os.Chmod(whole, 0o755); err != nil {
		return err
	}
	tops := map[string]bool{}
	for path, f := range want {
		path = filepath.Clean("/" + path)[1:]
		top, _, _ := strings.Cut(path, "/")
		tops[top] = true
		if err := f.write(filepath.Join(whole, path), group); err != nil {
			return err
		}
	}
	next := filepath.Join(dir, data+"_tmp")
	if err := os.Symlink(filepath.Base(whole), next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(dir, data)); err != nil {
		return err
	}
	for top := range tops {
		if err := os.Symlink(filepath.Join(data, top), filepath.Join(dir, top)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") && !tops[e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

func (f file) write(path string, group int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := f.mode
	if group >= 0 {
		mode |= 0o440
	}
	if err := os.WriteFile(path, []byte(f.data), mode); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		return err
	}
	return os.Chown(path, f.user, group)
}
