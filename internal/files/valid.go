package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// validated remembers across runs which texts were valid, so that a restart need not ask again. It is a cache: any trouble with
// it costs time and nothing else.
//
//	"cardea validated 1\n"  fingerprint [32 hex]  digests [16 each, sorted]  sha256 of all before
type validated struct {
	path        string // "" if nothing is remembered
	fingerprint string
	digests     map[digest]struct{}
}

const validatedMagic = "cardea validated 1\n"

// newValidated makes an empty memory for one folder.
func newValidated(cacheDir, folder, fingerprint string) *validated {
	v := &validated{fingerprint: fingerprint, digests: map[digest]struct{}{}}
	if cacheDir != "" {
		name := sha256.Sum256([]byte(folder))
		v.path = filepath.Join(cacheDir, "validated-"+hex.EncodeToString(name[:8]))
	}
	return v
}

func (v *validated) has(d digest) bool {
	_, ok := v.digests[d]
	return ok
}

// load reads what the last run left. Only a file that can't be read is an error; one that is of no use is not.
func (v *validated) load() error {
	if v.path == "" {
		return nil
	}
	text, err := os.ReadFile(v.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what was validated: %w", err)
	}
	if digests, ok := parseValidated(text, v.fingerprint); ok {
		v.digests = digests
	}
	return nil
}

func parseValidated(text []byte, fingerprint string) (map[digest]struct{}, bool) {
	body, sum := text[:max(0, len(text)-sha256.Size)], text[max(0, len(text)-sha256.Size):]
	header := validatedMagic + fingerprint
	list, ok := bytes.CutPrefix(body, []byte(header))
	if want := sha256.Sum256(body); !ok || len(list)%len(digest{}) != 0 || !bytes.Equal(sum, want[:]) {
		return nil, false
	}
	digests := make(map[digest]struct{}, len(list)/len(digest{}))
	for d := range slices.Chunk(list, len(digest{})) {
		digests[digest(d)] = struct{}{}
	}
	return digests, true
}

// save replaces the file, whole or not at all.
func (v *validated) save(digests map[digest]struct{}) error {
	v.digests = digests
	if v.path == "" {
		return nil
	}
	list := make([]digest, 0, len(digests))
	for d := range digests {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	text := []byte(validatedMagic + v.fingerprint)
	for _, d := range list {
		text = append(text, d[:]...)
	}
	sum := sha256.Sum256(text)
	if err := replaceFile(v.path, append(text, sum[:]...)); err != nil {
		return fmt.Errorf("remember what was validated: %w", err)
	}
	return nil
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
