package files

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// Stated is an object as a file states it, of whatever kind, with its place.
type Stated struct {
	Object map[string]any // as decoded from YAML or JSON: maps, slices, strings, bools, int64, float64, nil
	Place  Place
}

// ReadStated reads all objects of a folder, or of one file, once, in the order of files and lines. It checks nothing
// but the syntax. The error is that something can't be read, with its place.
func ReadStated(dir string) (list []Stated, err error) {
	root, err := newRoot(dir)
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
		text, _, err := slurp(filepath.Join(root.dir, filepath.FromSlash(path)), time.Time{}, false)
		if err != nil {
			return nil, fmt.Errorf("%s can't be read: %w", shown(path), cause(err))
		}
		if line := invalidUTF8(text); line > 0 {
			return nil, fmt.Errorf("%s: the file is not UTF-8 text", Place{path, line})
		}
		for _, c := range split(path, text) {
			objects, err := statedIn(c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", Place{path, c.line}, err)
			}
			for _, o := range objects {
				list = append(list, Stated{o.doc, Place{path, c.line + lineOf(c.text, o.path, "") - 1}})
			}
		}
	}
	return list, nil
}

func statedIn(c chunk) ([]listed, error) {
	value, err := decode(c)
	if err != nil {
		return nil, err
	}
	objects, _, err := expand(value)
	return objects, err
}

// wholeListing lists a folder that can be read completely. A caller that takes objects for deleted if they are not
// stated must not miss a folder.
func wholeListing(r root) (*listing, error) {
	l, err := list(r)
	if err != nil {
		return nil, fmt.Errorf("read the %s %s: %w", r.what(), shown(r.name), cause(err))
	}
	for _, rel := range l.lost {
		l.broken[rel] = errLeadsNowhere
	}
	broken := make([]string, 0, len(l.broken))
	for path := range l.broken {
		broken = append(broken, path)
	}
	slices.Sort(broken)
	for _, path := range broken {
		return nil, fmt.Errorf("%s can't be read: %w", shown(path), cause(l.broken[path]))
	}
	return l, nil
}
