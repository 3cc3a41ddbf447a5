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

// Position is where something stands.
type Position struct {
	File string // relative to the folder; "" is nowhere in it
	Line int    // from 1; 0 if it is not known
}

// String is "web.yaml:12", on one line whatever the file is called.
func (p Position) String() string {
	if p.Line == 0 {
		return quoteName(p.File)
	}
	return fmt.Sprintf("%s:%d", quoteName(p.File), p.Line)
}

// quoteName prints a file's name; quoted if it holds what can't be seen, such as a newline or what moves a terminal's
// cursor.
func quoteName(name string) string {
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

// NewLocator makes a finder of places in what the files hold now.
func (f *Folder) NewLocator() *Locator {
	return &Locator{folder: f, files: map[string]map[fingerprint][]chunk{}}
}

// PositionOf returns the place of an object's field, or of the nearest field around it that is there, or of the object
// itself if field is "".
func (l *Locator) PositionOf(ref model.ObjectRef, field string) Position {
	l.folder.mu.Lock()
	it := l.folder.winners[ref]
	if it == nil {
		l.folder.mu.Unlock()
		return Position{}
	}
	place := Position{File: it.doc.file.relPath, Line: it.doc.line}
	l.folder.mu.Unlock()
	for _, chunk := range l.readChunks(place.File)[it.doc.hash] {
		if it.itemPosition() != "" || chunk.line == place.Line {
			return Position{File: place.File, Line: chunk.line + lineOf(chunk.text, it.itemPosition(), field) - 1}
		}
	}
	return place
}

func (l *Locator) readChunks(path string) map[fingerprint][]chunk {
	if known, read := l.files[path]; read {
		return known
	}
	chunks := map[fingerprint][]chunk{}
	l.files[path] = chunks
	text, err := os.ReadFile(filepath.Join(l.folder.dir, filepath.FromSlash(path)))
	if err != nil {
		return chunks // the folder itself tells about it
	}
	for _, chunk := range splitDocuments(path, text) {
		hash := fingerprintOf(chunk.text)
		chunks[hash] = append(chunks[hash], chunk)
	}
	return chunks
}
