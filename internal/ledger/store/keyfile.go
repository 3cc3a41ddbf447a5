package store

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cardea.dev/cardea/internal/core/ledger"
)

const keySize = 32

// keyring holds the keys of a key file: a line each, "id:" and 32 random bytes in base64; without an id, it is "1". The
// first one seals, all of them open. So a key is replaced by a new line above it; the old one may go when Reseal has
// run.
type keyring struct {
	path      string // "": there is none
	mayCreate bool   // the file may be made

	mu     sync.Mutex // guards all below, and is held by who calls a method
	list   []sealKey
	hashes []byte // the key of the hashes of Secrets
}

type sealKey struct {
	id    string
	bytes []byte
}

// loadKeys reads the key file, once. isNew: the ledger never sealed anything, so the file may be made.
func (r *keyring) loadKeys(isNew bool) error {
	if r.list != nil {
		return nil
	}
	if r.path == "" {
		return &ledger.Error{Code: ledger.Unprotected, Message: "Secrets are kept only sealed, and there is no key",
			Fix: "name a key file with --ledger-key (`head -c 32 /dev/urandom | base64` makes one)"}
	}
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) && isNew && r.mayCreate {
		if err := makeKeyFile(r.path); err != nil {
			return &ledger.Error{Code: ledger.Unprotected, Object: r.path, Cause: err,
				Message: "the key file can't be made: " + err.Error(), Fix: "name one that can be with --ledger-key"}
		}
		text, err = os.ReadFile(r.path)
	}
	if err != nil {
		e := &ledger.Error{Code: ledger.Unprotected, Object: r.path, Cause: err,
			Message: "the key file can't be read: " + err.Error(), Fix: "make it, or name another one with --ledger-key"}
		if !isNew {
			e.Message = "the key file can't be read, and the ledger has Secrets that are sealed with its keys: " + err.Error()
			e.Fix = lostKeyFix("it")
		}
		return e
	}
	if r.list, err = parseKeys(string(text)); err != nil {
		return &ledger.Error{Code: ledger.Unprotected, Object: r.path, Message: err.Error(),
			Fix: "write a line for each key: its name, a colon, and 32 random bytes in base64"}
	}
	return nil
}

func parseKeys(text string) (list []sealKey, err error) {
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, word, named := strings.Cut(line, ":")
		if !named {
			id, word = "1", line
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(word))
		if err != nil || len(key) != keySize || id == "" {
			return nil, fmt.Errorf("line %d is not a key of 32 bytes", number+1)
		}
		for _, k := range list {
			if k.id == id {
				return nil, fmt.Errorf("line %d has the name of another key, %q", number+1, id)
			}
		}
		list = append(list, sealKey{id, key})
	}
	if len(list) == 0 {
		return nil, errors.New("the key file has no key")
	}
	return list, nil
}

// findKey finds a key. The file is read again for one that came since.
func (r *keyring) findKey(id string) ([]byte, error) {
	for range 2 {
		for _, k := range r.list {
			if k.id == id {
				return k.bytes, nil
			}
		}
		r.list = nil
		if err := r.loadKeys(false); err != nil {
			return nil, err
		}
	}
	return nil, &ledger.Error{Code: ledger.Unprotected, Object: r.path,
		Message: fmt.Sprintf("the key file has no key %q, and the ledger has Secrets that are sealed with it", id),
		Fix:     lostKeyFix("that line")}
}

// lostKeyFix is what to do about a key that is lost.
func lostKeyFix(what string) string {
	return "put " + what + " back: no other key opens the Secrets; if it is lost, `cardea ledger export` prints all " +
		"objects but Secrets, for a new ledger where you state the Secrets again"
}

// KeyFile is the path of the key file that the Secrets of the ledger are sealed with; "" if there are none.
func (s *Store) KeyFile(ctx context.Context) (string, error) {
	var id string
	var n requirements
	err := s.readDB.QueryRowContext(ctx, "SELECT hash_key_id, needs, needs_program FROM head").Scan(&id, &n.migration,
		&n.program)
	if err == nil {
		err = n.checkVersion(s.dialect.newestMigration)
	}
	if err != nil || id == "" {
		return "", explainError(err)
	}
	return s.keys.path, nil
}

// makeKeyFile makes a key file whole, unless there is one.
func makeKeyFile(path string) error {
	key := make([]byte, keySize)
	_, _ = rand.Read(key)                                    // it never fails
	file, err := os.CreateTemp(filepath.Dir(path), ".key-*") // with permissions 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString("1:" + base64.StdEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	// A link never replaces a file; a rename would.
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
