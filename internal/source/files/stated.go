package files

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// RawObject is an object as a file states it, of whatever kind, with its place.
type RawObject struct {
	Object   map[string]any // as decoded from YAML or JSON: maps, slices, strings, bools, int64, float64, nil
	Position Position
}

// ReadRawObjects reads all objects of a folder, or of one file, once, in the order of files and lines. It checks
// nothing but the syntax. The error is that something can't be read, with its place.
func ReadRawObjects(dir string) (list []RawObject, err error) {
	root, err := newInputPath(dir)
	if err != nil {
		return nil, err
	}
	listing, err := wholeListing(root)
	if err != nil {
		return nil, err
	}
	paths := map[string]struct{}{}
	for path := range listing.files {
		paths[path] = struct{}{}
	}
	for _, path := range sortedPaths(paths) {
		text, _, err := readWhole(filepath.Join(root.dir, filepath.FromSlash(path)), time.Time{}, false)
		if err != nil {
			return nil, fmt.Errorf("%s can't be read: %w", quoteName(path), withoutPath(err))
		}
		if line := invalidUTF8(text); line > 0 {
			return nil, fmt.Errorf("%s: the file is not UTF-8 text", Position{path, line})
		}
		for _, c := range splitDocuments(path, text) {
			objects, err := decodeObjects(c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", Position{path, c.line}, err)
			}
			for _, o := range objects {
				list = append(list, RawObject{o.doc, Position{path, c.line + lineOf(c.text, o.position, "") - 1}})
			}
		}
	}
	return list, nil
}

func decodeObjects(c chunk) ([]documentObject, error) {
	value, err := decodeChunk(c)
	if err != nil {
		return nil, err
	}
	objects, _, err := expandList(value)
	return objects, err
}

// wholeListing lists a folder that can be read completely. A caller that takes objects for deleted if they are not
// stated must not miss a folder.
func wholeListing(r inputPath) (*folderListing, error) {
	l, err := listFolder(r)
	if err != nil {
		return nil, fmt.Errorf("read the %s %s: %w", r.fileOrFolder(), quoteName(r.name), withoutPath(err))
	}
	for _, rel := range l.lostLinks {
		l.broken[rel] = errLeadsNowhere
	}
	broken := make([]string, 0, len(l.broken))
	for path := range l.broken {
		broken = append(broken, path)
	}
	slices.Sort(broken)
	for _, path := range broken {
		return nil, fmt.Errorf("%s can't be read: %w", quoteName(path), withoutPath(l.broken[path]))
	}
	return l, nil
}
