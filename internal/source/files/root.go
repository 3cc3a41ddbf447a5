package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// root is what the user named: a folder, or one file, without regard to its neighbours.
type root struct {
	name string // as the user wrote it
	dir  string // absolute: the folder, or that which holds the file
	file string // the file's name; "" for a folder
}

// newRoot looks what is there. A path with nothing there is going to be a folder.
func newRoot(name string) (root, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return root{}, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		return root{name: name, dir: path}, nil
	case !info.Mode().IsRegular():
		return root{}, fmt.Errorf("%s is neither a folder nor a regular file", shown(name))
	}
	return root{name: name, dir: filepath.Dir(path), file: filepath.Base(path)}, nil
}

// path is the absolute path of what the user named.
func (r root) path() string { return filepath.Join(r.dir, r.file) }

// what calls it a file or a folder.
func (r root) what() string {
	if r.file != "" {
		return "file"
	}
	return "folder"
}

// concerns says whether what happens at a path, relative to dir, can matter.
func (r root) concerns(rel string) bool {
	if r.file != "" {
		return rel == r.file
	}
	return !strings.HasPrefix(rel, "..") && !hidden(rel)
}

// reads says whether a file is read, by its path relative to dir. One that the user named may have any name.
func (r root) reads(rel string) bool {
	if r.file != "" {
		return filepath.FromSlash(rel) == r.file
	}
	return isObjectFile(rel)
}
