package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"cardea.dev/cardea/internal/core/model"
)

// Place is where something stands.
type Place struct {
	File string // relative to the folder; "" is nowhere in it
	Line int    // from 1; 0 if it is not known
}

// String is "web.yaml:12", on one line whatever the file is called.
func (p Place) String() string {
	if p.Line == 0 {
		return shown(p.File)
	}
	return fmt.Sprintf("%s:%d", shown(p.File), p.Line)
}

// shown prints a file's name; quoted if it holds what can't be seen, such as a newline or what moves a terminal's
// cursor.
func shown(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}

// Locator finds where objects stand now. It reads each file once, so it is made for one list of questions and then
// dropped. Lines are not kept otherwise: they move whenever a neighbour changes. Not safe for concurrent use.
type Locator struct {
	folder *Folder
	files  map[string]map[fingerprint][]chunk
}

// Locator makes a finder of places in what the files hold now.
func (f *Folder) Locator() *Locator {
	return &Locator{folder: f, files: map[string]map[fingerprint][]chunk{}}
}

// Where returns the place of an object's field, or of the nearest field around it that is there, or of the object
// itself if field is "".
func (l *Locator) Where(ref model.ObjectRef, field string) Place {
	l.folder.mu.Lock()
	it := l.folder.winners[ref]
	if it == nil {
		l.folder.mu.Unlock()
		return Place{}
	}
	place := Place{File: it.doc.file.path, Line: it.doc.line}
	l.folder.mu.Unlock()
	for _, chunk := range l.chunks(place.File)[it.doc.hash] {
		if it.path() != "" || chunk.line == place.Line {
			return Place{File: place.File, Line: chunk.line + lineOf(chunk.text, it.path(), field) - 1}
		}
	}
	return place
}

func (l *Locator) chunks(path string) map[fingerprint][]chunk {
	if known, read := l.files[path]; read {
		return known
	}
	chunks := map[fingerprint][]chunk{}
	l.files[path] = chunks
	text, err := os.ReadFile(filepath.Join(l.folder.dir, filepath.FromSlash(path)))
	if err != nil {
		return chunks // the folder itself tells about it
	}
	for _, chunk := range split(path, text) {
		hash := fingerprintOf(chunk.text)
		chunks[hash] = append(chunks[hash], chunk)
	}
	return chunks
}
