package files

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
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"

	"cardea.dev/cardea/internal/schema"
)

// memory keeps across runs which texts were valid, and which objects they are, so that a restart need not ask again. It
// is a cache: any trouble with it costs time and nothing else. Secrets are not in it: of their texts it knows only that
// they were valid.
//
//	"cardea objects 1\n"  rules [32 hex]  program [32 hex]
//	for each text, sorted: digest [16]  size of its object, as uvarint (0: that is not kept)  object, by package schema
//	sha256 of all before [32]
type memory struct {
	schema  *schema.Schema
	path    string   // "" if nothing is kept
	rules   string   // by which texts are valid
	program string   // which knows how objects are written
	digests []digest // of valid texts, sorted
	objects [][]byte // in the same order, until something is kept; nil if there are none
	foreign bool     // the file holds objects of another program
}

const (
	memoryMagic = "cardea objects 1\n"
	memorySize  = 3 * MaxFileSize / 4 // bytes; of what comes behind, only the digests are written
)

// newMemory makes an empty memory for one folder.
func newMemory(cacheDir, folder string, s *schema.Schema) *memory {
	m := &memory{schema: s, rules: s.Fingerprint(), program: program()}
	if cacheDir != "" {
		name := sha256.Sum256([]byte(folder))
		m.path = filepath.Join(cacheDir, "validated-"+hex.EncodeToString(name[:8]))
	}
	return m
}

// program names this build by its bytes: another one may make another object of the same text. If they can't be read it
// is unnamed, which is nobody's.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return unnamed
	}
	f, err := os.Open(path)
	if err != nil {
		return unnamed
	}
	defer f.Close()
	h := xxhash.New()
	if _, err := io.Copy(h, f); err != nil {
		return unnamed
	}
	return fmt.Sprintf("%032x", h.Sum64())
}

var unnamed = strings.Repeat("-", 32)

// valid says whether a text was valid.
func (m *memory) valid(d digest) bool {
	_, ok := slices.BinarySearchFunc(m.digests, d, digest.compare)
	return ok
}

// object is what was made of a text; empty if that is not known.
func (m *memory) object(d digest) []byte {
	if m.objects == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(m.digests, d, digest.compare)
	if !ok {
		return nil
	}
	return m.objects[i]
}

// load reads what the last run left. Only a file that can't be read is an error; one that is of no use is not.
func (m *memory) load() error {
	if m.path == "" {
		return nil
	}
	text, info, err := slurp(m.path, time.Time{}, false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read what was validated: %w", err)
	case private(info):
		m.parse(text)
	}
	return nil
}

// private says that nobody else can have written a file: what it holds is believed.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// parse takes over what a file holds, if that is whole and of use.
func (m *memory) parse(text []byte) {
	body, sum := text[:max(0, len(text)-sha256.Size)], text[max(0, len(text)-sha256.Size):]
	rest, ok := bytes.CutPrefix(body, []byte(memoryMagic+m.rules))
	if want := sha256.Sum256(body); !ok || !bytes.Equal(sum, want[:]) || len(rest) < len(m.program) {
		return
	}
	own := string(rest[:len(m.program)]) == m.program && m.program != unnamed
	rest = rest[len(m.program):]
	var digests []digest
	var objects [][]byte
	for len(rest) > 0 {
		if len(rest) < len(digest{}) {
			return
		}
		d := digest(rest[:len(digest{})])
		size, n := binary.Uvarint(rest[len(d):])
		if rest = rest[len(d)+max(n, 0):]; n <= 0 || size > uint64(len(rest)) || len(digests) > 0 &&
			digests[len(digests)-1].compare(d) >= 0 {
			return
		}
		digests = append(digests, d)
		objects = append(objects, rest[:size:size])
		rest = rest[size:]
	}
	m.digests = digests
	m.foreign = !own
	if own {
		m.objects = objects
	}
}

// keep remembers objects by their texts, and forgets all others. From then on the objects are in the file only.
func (m *memory) keep(objects []*object) error {
	slices.SortFunc(objects, func(a, b *object) int { return a.digest.compare(b.digest) })
	objects = slices.CompactFunc(objects, func(a, b *object) bool { return a.digest == b.digest })
	same := slices.EqualFunc(objects, m.digests, func(o *object, d digest) bool { return o.digest == d })
	m.objects = nil
	if same && !m.foreign {
		return nil
	}
	m.foreign, m.digests = false, make([]digest, len(objects))
	for i, o := range objects {
		m.digests[i] = o.digest
	}
	if m.path == "" {
		return nil
	}
	if err := replaceFile(m.path, m.text(objects)); err != nil {
		return fmt.Errorf("remember what was validated: %w", err)
	}
	return nil
}

// text is what the file holds.
func (m *memory) text(objects []*object) []byte {
	text := []byte(memoryMagic + m.rules + m.program)
	var stored []byte
	for _, o := range objects {
		if stored = stored[:0]; len(text) < memorySize {
			stored = m.schema.Store(stored, &o.Object)
		}
		text = append(text, o.digest[:]...)
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
