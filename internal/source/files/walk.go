package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// folderListing is what the folder holds at one time.
type folderListing struct {
	files     map[string]fs.FileInfo // by slash-separated path relative to the folder; links are followed
	dirs      []string               // absolute: where changes can happen
	links     map[string][]string    // absolute path of a link's target -> the links to it, for files
	broken    map[string]error       // what is there and could not be read, by relative path; what it holds is unknown
	lostLinks []string               // links to what is not there, by relative path, that may be to anything
	rootInfo  fs.FileInfo            // of what the user named
	// others are files whose names say that they are not read, by relative path: at most maxOthers.
	others map[string]fs.FileInfo
}

// listFolder walks the folder, or looks at the one file. Its error is that what the user named can't be read.
func listFolder(r inputPath) (*folderListing, error) {
	l := &folderListing{files: map[string]fs.FileInfo{}, links: map[string][]string{}, broken: map[string]error{},
		others: map[string]fs.FileInfo{}}
	info, err := os.Stat(r.absolutePath())
	l.rootInfo = info
	switch {
	case err != nil:
		return l, err
	case r.file != "" && !info.Mode().IsRegular() || r.file == "" && !info.IsDir():
		return l, errors.New("not a " + r.fileOrFolder())
	case r.file == "":
		return l, l.walkDir(r.dir, "", nil)
	}
	own, err := os.Lstat(r.absolutePath())
	if err != nil {
		return l, err
	}
	l.dirs = []string{r.dir}
	l.addFile(r.absolutePath(), r.file, info, own.Mode()&fs.ModeSymlink != 0)
	return l, nil
}

// addFile takes a file in, and the link that leads to it if there is one.
func (l *folderListing) addFile(abs, rel string, info fs.FileInfo, isLink bool) {
	l.files[rel] = info
	if isLink {
		l.addLink(abs, rel)
	}
}

// addLink notes where a link leads, also if that is not there yet.
func (l *folderListing) addLink(abs, rel string) {
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		if target, err = os.Readlink(abs); err != nil {
			return
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(abs), target)
		}
	}
	target = filepath.Clean(target)
	l.links[target] = append(l.links[target], rel)
}

func (l *folderListing) walkDir(root, rel string, above []fs.FileInfo) error {
	dir := filepath.Join(root, filepath.FromSlash(rel))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	for _, a := range above {
		if os.SameFile(a, info) {
			return nil // a link to a folder above
		}
	}
	l.dirs = append(l.dirs, dir)
	for _, e := range entries {
		// Hidden entries are editors' temporary files, and the folders behind a mounted ConfigMap's links.
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		l.addEntry(root, path.Join(rel, e.Name()), e, append(above, info))
	}
	return nil
}

func (l *folderListing) addEntry(root, rel string, e fs.DirEntry, above []fs.FileInfo) {
	if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 && !isObjectFile(rel) {
		if info, err := e.Info(); err == nil {
			l.addOther(rel, info)
		}
		return
	}
	abs := filepath.Join(root, filepath.FromSlash(rel))
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isAbsent(abs):
		// gone since it was listed
	case errors.Is(err, fs.ErrNotExist):
		l.addMissingLink(abs, rel)
	case err != nil:
		l.broken[rel] = err
	case info.IsDir():
		if err := l.walkDir(root, rel, above); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.broken[rel] = err
		}
	case !isObjectFile(rel):
		l.addOther(rel, info)
	case info.Mode().IsRegular():
		l.addFile(abs, rel, info, e.Type()&fs.ModeSymlink != 0)
	default:
		l.broken[rel] = errNotRegular
	}
}

// addMissingLink takes in a link to what is not there. By its name, who made it wants something read; or nobody can
// tell: it is of a folder, such as shop.example, or of a file that is not read, such as notes.txt.
func (l *folderListing) addMissingLink(abs, rel string) {
	l.addLink(abs, rel)
	if isObjectFile(rel) || path.Ext(rel) == "" { // without one, as of a folder
		l.broken[rel] = errLeadsNowhere
	} else {
		l.lostLinks = append(l.lostLinks, rel)
	}
}

// markLostFolders makes links that lead nowhere count as folders that can't be read, if a file was read there.
func (l *folderListing) markLostFolders(known iter.Seq[string]) {
	if len(l.lostLinks) == 0 {
		return
	}
	for file := range known {
		for _, rel := range l.lostLinks {
			if strings.HasPrefix(file, rel+"/") {
				l.broken[rel] = errLeadsNowhere
			}
		}
	}
}

// isAbsent says that no file is at a path: nothing, or a folder. A link to nothing is a file that can't be read.
func isAbsent(path string) bool {
	if info, err := os.Stat(path); err == nil {
		return info.IsDir()
	}
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// isUnknown says whether a path is below something that could not be read.
func (l *folderListing) isUnknown(rel string) bool {
	for ; rel != "." && rel != ""; rel = path.Dir(rel) {
		if _, ok := l.broken[rel]; ok {
			return true
		}
	}
	return false
}

// isObjectFile says whether a file of this name is read.
func isObjectFile(name string) bool {
	if strings.HasPrefix(path.Base(name), ".") {
		return false
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// isJSON says whether a file is JSON, by its name; if that does not say it, by what the text begins with. Several
// values of JSON may follow each other, which is no YAML.
func isJSON(name string, text []byte) bool {
	if isObjectFile(name) {
		return strings.EqualFold(path.Ext(name), ".json")
	}
	var first map[string]any
	return json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil
}
