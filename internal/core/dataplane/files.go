package dataplane

import (
	"fmt"
	"maps"
	"slices"

	"cardea.dev/cardea/internal/core/resource"
)

// Files is how proxies are fed that read files by themselves, and answer nobody.
type Files struct {
	// NextStep is the next step from what is written towards what the proxies should have; if nothing is written,
	// everything at once. It depends on its arguments only, so whoever starts anew goes on where another one stopped. It
	// is asked again after each step.
	NextStep func(FileFolders, FileSet, map[resource.Name]resource.Resource) (FileStep, error)
	// MaxFiles is how many files a proxy can follow.
	MaxFiles int
}

// FileFolders says where proxies find the files: absolute paths of two folders. Each changes as a whole, by a renamed
// link, the way that Kubernetes' volumes do.
type FileFolders struct {
	Dir  string // of FileSet.Plain
	Keys string // of FileSet.Keys
}

// FileSet is all files of one Gateway's proxies, by name. Names are valid keys of a ConfigMap.
type FileSet struct {
	Plain map[string][]byte
	Keys  map[string][]byte // those with private keys
}

// Equal tells whether two sets have the same files.
func (s FileSet) Equal(o FileSet) bool {
	same := func(a, b []byte) bool { return string(a) == string(b) }
	return maps.EqualFunc(s.Plain, o.Plain, same) && maps.EqualFunc(s.Keys, o.Keys, same)
}

// FileCount is how many files it has.
func (s FileSet) FileCount() int { return len(s.Plain) + len(s.Keys) }

// LargestFolderSize is the sum of the sizes of the larger of its two folders, in bytes: each is an object of its own.
func (s FileSet) LargestFolderSize() int {
	sum := func(files map[string][]byte) (n int) {
		for name, text := range files {
			n += len(name) + len(text)
		}
		return n
	}
	return max(sum(s.Plain), sum(s.Keys))
}

// FileStep is one step of an edit.
type FileStep struct {
	// Missing are the resources that are not in what is written as they are now.
	Missing []resource.Name
	Stage   FileStage
	Files   FileSet // that are to be written
	Whole   FileSet // that are written after the last step
}

// FileStage is what a step does. Two folders do not change at the same moment, and a folder that changes as a whole
// says nothing of the order in which its files are read. So what names something, and what is named, can't change
// together.
type FileStage uint8

// The stages, in the order of an edit.
const (
	FilesCurrent FileStage = iota // nothing: what is written is what should be
	FilesUpdate                   // changes clusters and keys that are there
	FilesAddKeys                  // adds keys: clusters and listeners that name them have to wait
	FilesAdd                      // adds clusters and entries of extensions: route tables that name them have to wait
	FilesSwitch                   // changes listeners and route tables: what only the old ones name has to stay
	FilesRemove                   // removes what nothing names any more
)

var stageNames = [...]string{"nothing", "update", "add keys", "add", "switch", "remove"}

// String is the stage as the log says it.
func (s FileStage) String() string { return stageNames[s] }

// maxObjectSize is how large a ConfigMap or a Secret may be, in bytes. Kubernetes takes 1 MiB; the rest is for its
// metadata.
const maxObjectSize = 900_000

// TooLarge says why a set of files can't be written; "" if it can.
func (f Files) TooLarge(s FileSet) string {
	switch count, size := s.FileCount(), s.LargestFolderSize(); {
	case count > f.MaxFiles:
		return fmt.Sprintf("%d files are needed, but a proxy can follow %d at most", count, f.MaxFiles)
	case size > maxObjectSize:
		return fmt.Sprintf("%d bytes are needed, but one object can have %d at most", size, maxObjectSize)
	}
	return ""
}

// FileNames are those of its files, sorted, keys last.
func (s FileSet) FileNames() []string {
	return append(slices.Sorted(maps.Keys(s.Plain)), slices.Sorted(maps.Keys(s.Keys))...)
}
