package files

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// A file is read if its name ends in .yaml, .yml or .json. A mistake in the name (pol.ymal, pol.yaml.txt) would leave a
// policy out without a word, so such a file is looked into: if it has an object, a warning says that it is not read.

const (
	// maxOthers is how many files of other names a listing looks into.
	maxOthers = 1000
	// maxOtherSize is the size of the biggest file that is looked into, in bytes.
	maxOtherSize = 1 << 20
)

// setAside are endings of files that someone keeps out of the way on purpose, or that explain.
var setAside = []string{".md", ".bak", ".orig", ".disabled", ".off"}

// apiVersionLine is a line with which an object begins, in YAML or JSON.
var apiVersionLine = regexp.MustCompile(`(?m)^(apiVersion:|[\s{]*"apiVersion"\s*:)`)

// otherFile is what was found in a file whose name says that it is not read.
type otherFile struct {
	info      fs.FileInfo
	hasObject bool
}

// addOther notes a file whose name says that it is not read.
func (l *folderListing) addOther(rel string, info fs.FileInfo) {
	base := path.Base(rel)
	isBackup := strings.HasSuffix(base, "~") || slices.Contains(setAside, strings.ToLower(path.Ext(base)))
	if info.Mode().IsRegular() && info.Size() <= maxOtherSize && !isBackup && len(l.others) < maxOthers {
		l.others[rel] = info
	}
}

// lookAtOthers looks into the files of other names that are new, or changed.
func (f *Folder) lookAtOthers() {
	before := f.others
	f.others = make(map[string]otherFile, len(f.listing.others))
	for rel, info := range f.listing.others {
		known, was := before[rel]
		if !was || !sameStat(known.info, info) {
			known = otherFile{info: info}
			if text, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(rel))); err == nil {
				known.hasObject = apiVersionLine.Match(text)
			}
		}
		f.others[rel] = known
	}
}

// addOthers adds the problems of files that have an object and are not read.
func (f *Folder) addOthers(add func(Problem)) {
	for rel, o := range f.others {
		if o.hasObject {
			add(Problem{File: rel, Severity: model.Warning,
				Message: "the file is not read: its name must end in .yaml, .yml or .json"})
		}
	}
}
