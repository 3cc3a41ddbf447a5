package store

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// A result is a hash of what an API server answered; workers compare by it. With the hash of a Secret, a reader of the
// database could try out likely values. So it is kept sealed, with AES-256-GCM under a key that is derived from the key
// of hashes: that one never changes, so no result has to be sealed anew.

// sealedResult is what a sealed result begins with. Programs of the version before write plain ones, which are read,
// too.
const sealedResult = "sealed:"

// sealResult is the result of a Secret as its row has it.
func (s *Store) sealResult(t tx, object, result string) (string, error) {
	if result == "" {
		return "", nil
	}
	gcm, err := s.resultKey(t)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return sealedResult + base64.StdEncoding.EncodeToString(gcm.Seal(nonce, nonce, []byte(result), []byte(object))), nil
}

// resultKey seals and opens results. The ledger has a Secret, so it has a key of hashes.
func (s *Store) resultKey(t tx) (cipher.AEAD, error) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if s.keys.hashes == nil {
		var sealed []byte
		var id string
		if err := t.queryRow("SELECT hash_key, hash_key_id FROM head").Scan(&sealed, &id); err != nil {
			return nil, err
		}
		err := s.keys.loadKeys(false)
		if err != nil {
			return nil, err
		}
		if s.keys.hashes, err = s.keys.openSealed(id, sealed, hashKeyName); err != nil {
			return nil, err
		}
	}
	key, err := hkdf.Key(sha256.New, s.keys.hashes, nil, "results", keySize)
	if err != nil {
		return nil, err
	}
	return newGCM(key)
}

// resultOpener opens the results of one transaction.
type resultOpener struct {
	store *Store
	t     tx
	gcm   cipher.AEAD
	none  bool // the key is not there
}

// openResult opens a result, if it is sealed. Without the key it is "", as if the object was never compared: nor can a
// worker have the Secret then.
func (o *resultOpener) openResult(object string, a *ledger.Applied) (err error) {
	if a == nil {
		return nil
	}
	text, sealed := strings.CutPrefix(a.Result, sealedResult)
	if !sealed {
		return nil
	}
	a.Result = ""
	if o.gcm == nil && !o.none {
		if o.gcm, err = o.store.resultKey(o.t); ledger.CodeOf(err) == ledger.Unprotected {
			o.none, err = true, nil
		}
	}
	if err != nil || o.none {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if n := o.gcm.NonceSize(); err == nil && len(raw) >= n {
		result, _ := o.gcm.Open(nil, raw[:n], raw[n:], []byte(object)) // a damaged one is "", too
		a.Result = string(result)
	}
	return nil
}
