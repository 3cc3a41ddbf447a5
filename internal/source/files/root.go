package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// inputPath is what the user named: a folder, or one file, without regard to its neighbours.
type inputPath struct {
	name string // as the user wrote it
	dir  string // absolute: the folder, or that which holds the file
	file string // the file's name; "" for a folder
}

// newInputPath looks what is there. A path with nothing there is going to be a folder.
func newInputPath(name string) (inputPath, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return inputPath{}, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		return inputPath{name: name, dir: path}, nil
	case !info.Mode().IsRegular():
		return inputPath{}, fmt.Errorf("%s is neither a folder nor a regular file", quoteName(name))
	}
	return inputPath{name: name, dir: filepath.Dir(path), file: filepath.Base(path)}, nil
}

// absolutePath is the absolute path of what the user named.
func (r inputPath) absolutePath() string { return filepath.Join(r.dir, r.file) }

// fileOrFolder calls it a file or a folder.
func (r inputPath) fileOrFolder() string {
	if r.file != "" {
		return "file"
	}
	return "folder"
}

// concernsPath says whether what happens at a path, relative to dir, can matter.
func (r inputPath) concernsPath(rel string) bool {
	if r.file != "" {
		return rel == r.file
	}
	return !strings.HasPrefix(rel, "..") && !isHidden(rel)
}

// readsFile says whether a file is read, by its path relative to dir. One that the user named may have any name.
func (r inputPath) readsFile(rel string) bool {
	if r.file != "" {
		return filepath.FromSlash(rel) == r.file
	}
	return isObjectFile(rel)
}
