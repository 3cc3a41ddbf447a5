// Package validcache keeps across runs which texts were valid, and which objects they are, so that a restart need not
// ask again. It is a cache: any trouble with it costs time and nothing else. Secrets are not in it: of their texts it
// knows at most that they were valid.
//
//	"cardea objects 1\n"  rules [32 hex]  program [32 hex]
//	for each text, sorted: digest [16]  size of its object, as uvarint (0: that is not kept)  object, by package schema
//	sha256 of all before [32]
//
// It owns the file. It must never know where texts come from. Load and Keep are called by the one goroutine that reads
// the texts, and Valid and Object from any while neither of those runs. Start reading at Cache.
package validcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"

	"cardea.dev/cardea/internal/core/schema"
)

// Cache is what is known of texts.
type Cache struct {
	schema           *schema.Schema
	path             string   // "" if nothing is kept
	rules            string   // by which texts are valid
	program          string   // which knows how objects are written
	digests          []Digest // of valid texts, sorted
	objects          [][]byte // in the same order, until something is kept; nil if there are none
	fromOtherProgram bool     // the file holds objects of another program
}

const (
	fileMagic      = "cardea objects 1\n"
	maxFileSize    = 64 << 20 // bytes that are read
	maxFiles       = 32       // files that are kept in a cache folder
	filePrefix     = "validated-"
	maxObjectBytes = 3 * maxFileSize / 4 // bytes; of what comes behind, only the digests are written
)

// New makes an empty memory of the texts of one place, such as a folder. cacheDir "" keeps nothing.
func New(cacheDir, place string, s *schema.Schema) *Cache {
	m := &Cache{schema: s, rules: s.Fingerprint(), program: programDigest()}
	if cacheDir != "" {
		name := sha256.Sum256([]byte(place))
		m.path = filepath.Join(cacheDir, filePrefix+hex.EncodeToString(name[:8]))
	}
	return m
}

// programDigest names this build by its bytes: another one may make another object of the same text. If they can't be
// read it is unnamed, which is nobody's.
var programDigest = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return unknownProgram
	}
	f, err := os.Open(path)
	if err != nil {
		return unknownProgram
	}
	defer f.Close()
	h := xxhash.New()
	if _, err := io.Copy(h, f); err != nil {
		return unknownProgram
	}
	return fmt.Sprintf("%032x", h.Sum64())
})

var unknownProgram = strings.Repeat("-", 32)

// IsValid says whether a text was valid.
func (m *Cache) IsValid(d Digest) bool {
	_, ok := slices.BinarySearchFunc(m.digests, d, Digest.Compare)
	return ok
}

// LoadObject is what was made of a text; false if that is not known.
func (m *Cache) LoadObject(p *schema.Pool, d Digest) (schema.Object, bool) {
	b := m.storedObject(d)
	if len(b) == 0 {
		return schema.Object{}, false
	}
	o, err := m.schema.Load(p, b)
	return o, err == nil
}

// storedObject is what was made of a text, as Store wrote it; empty if that is not known.
func (m *Cache) storedObject(d Digest) []byte {
	if m.objects == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(m.digests, d, Digest.Compare)
	if !ok {
		return nil
	}
	return m.objects[i]
}

// Path is where the memory is kept; "" if it is not.
func (m *Cache) Path() string { return m.path }

// Size is how many texts are known to be valid, and how many objects of them are held in memory.
func (m *Cache) Size() (valid, held int) { return len(m.digests), len(m.objects) }

// Load reads what the last run left. Only a file that can't be read is an error; one that is of no use is not.
func (m *Cache) Load() error {
	if m.path == "" {
		return nil
	}
	f, err := os.Open(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what was validated: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read what was validated: %w", err)
	}
	if !isPrivate(info) || !info.Mode().IsRegular() || info.Size() > maxFileSize {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize))
	if err != nil {
		return fmt.Errorf("read what was validated: %w", err)
	}
	m.parseFile(text)
	return nil
}

// isPrivate says that nobody else can have written a file: what it holds is believed.
func isPrivate(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// parseFile takes over what a file holds, if that is whole and of use.
func (m *Cache) parseFile(text []byte) {
	body, sum := text[:max(0, len(text)-sha256.Size)], text[max(0, len(text)-sha256.Size):]
	rest, ok := bytes.CutPrefix(body, []byte(fileMagic+m.rules))
	if want := sha256.Sum256(body); !ok || !bytes.Equal(sum, want[:]) || len(rest) < len(m.program) {
		return
	}
	own := string(rest[:len(m.program)]) == m.program && m.program != unknownProgram
	rest = rest[len(m.program):]
	var digests []Digest
	var objects [][]byte
	for len(rest) > 0 {
		if len(rest) < len(Digest{}) {
			return
		}
		d := Digest(rest[:len(Digest{})])
		size, n := binary.Uvarint(rest[len(d):])
		if rest = rest[len(d)+max(n, 0):]; n <= 0 || size > uint64(len(rest)) || len(digests) > 0 &&
			digests[len(digests)-1].Compare(d) >= 0 {
			return
		}
		digests = append(digests, d)
		objects = append(objects, rest[:size:size])
		rest = rest[size:]
	}
	m.digests = digests
	m.fromOtherProgram = !own
	if own {
		m.objects = objects
	}
}

// Entry is a valid text, and the object that it is.
type Entry struct {
	Digest Digest
	Object *schema.Object
}

// SaveEntries remembers objects by their texts, and forgets all others. From then on the objects are in the file only.
func (m *Cache) SaveEntries(list []Entry) error {
	slices.SortFunc(list, func(a, b Entry) int { return a.Digest.Compare(b.Digest) })
	list = slices.CompactFunc(list, func(a, b Entry) bool { return a.Digest == b.Digest })
	same := slices.EqualFunc(list, m.digests, func(e Entry, d Digest) bool { return e.Digest == d })
	m.objects = nil
	if same && !m.fromOtherProgram {
		return nil
	}
	m.fromOtherProgram, m.digests = false, make([]Digest, len(list))
	for i, e := range list {
		m.digests[i] = e.Digest
	}
	if m.path == "" {
		return nil
	}
	if err := replaceFile(m.path, m.encodeFile(list)); err != nil {
		return fmt.Errorf("remember what was validated: %w", err)
	}
	m.removeOldFiles()
	return nil
}

// removeOldFiles removes the files of places that were written longest ago, if there are many. A place without its file
// is validated anew.
func (m *Cache) removeOldFiles() {
	list, err := filepath.Glob(filepath.Join(filepath.Dir(m.path), filePrefix+"*"))
	if err != nil || len(list) <= maxFiles {
		return
	}
	written := map[string]time.Time{}
	for _, path := range list {
		if info, err := os.Lstat(path); err == nil {
			written[path] = info.ModTime()
		}
	}
	slices.SortFunc(list, func(a, b string) int { return written[b].Compare(written[a]) })
	for _, path := range list[maxFiles:] {
		_ = os.Remove(path) // another program may have done so
	}
}

// encodeFile is what the file holds.
func (m *Cache) encodeFile(list []Entry) []byte {
	text := []byte(fileMagic + m.rules + m.program)
	var stored []byte
	for _, e := range list {
		if stored = stored[:0]; len(text) < maxObjectBytes {
			stored = m.schema.Store(stored, e.Object)
		}
		text = append(text, e.Digest[:]...)
		text = append(binary.AppendUvarint(text, uint64(len(stored))), stored...)
	}
	sum := sha256.Sum256(text)
	return append(text, sum[:]...)
}

func replaceFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".validated-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
