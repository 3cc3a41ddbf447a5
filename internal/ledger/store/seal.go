package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// Contents of Secrets are sealed with AES-256-GCM under a key of the key file; the row says which one. Their hash is an
// HMAC, so that nobody can find a content by trying. Its key is the ledger's own, made once and sealed in the row of
// head: another key of the key file changes no hash.

// hashContent names a content.
func (s *Store) hashContent(ctx context.Context, k ledger.Key, c ledger.Content) (string, error) {
	if !k.IsSecret() {
		return c.Hash(), nil
	}
	key, err := s.hashKey(ctx)
	if err != nil {
		if e, ok := errors.AsType[*ledger.Error](err); ok {
			if e.Object != "" { // the key file
				e.Message = e.Object + ": " + e.Message
			}
			e.Object = k.String()
		}
		return "", err
	}
	return hashSecret(key, c), nil
}

func hashSecret(key []byte, c ledger.Content) string {
	h := hmac.New(sha256.New, key)
	h.Write(c)
	return hex.EncodeToString(h.Sum(nil))
}

// hashKey is the key of the hashes of Secrets. The ledger's first Secret makes it, and the key file if it may.
func (s *Store) hashKey(ctx context.Context) ([]byte, error) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if s.keys.hashes != nil {
		return s.keys.hashes, nil
	}
	var sealed []byte
	var id string
	err := s.readDB.QueryRowContext(ctx, "SELECT hash_key, hash_key_id FROM head").Scan(&sealed, &id)
	if err != nil {
		return nil, explainError(err)
	}
	if err := s.keys.loadKeys(sealed == nil); err != nil {
		return nil, err
	}
	if sealed == nil {
		if sealed, id, err = s.makeHashKey(ctx); err != nil {
			return nil, err
		}
	}
	s.keys.hashes, err = s.keys.openSealed(id, sealed, hashKeyName)
	return s.keys.hashes, err
}

// hashKeyName is what the sealed key of hashes is bound to, as contents are to their hash.
const hashKeyName = "hash key"

func (s *Store) makeHashKey(ctx context.Context) (sealed []byte, id string, err error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	return sealed, id, s.runWrite(ctx, func(t tx) error {
		if _, err := readHead(t, true); err != nil {
			return err
		}
		err := t.queryRow("SELECT hash_key, hash_key_id FROM head").Scan(&sealed, &id)
		if err != nil || sealed != nil {
			return err // another process was first
		}
		if id, sealed, err = s.keys.sealText(key, hashKeyName); err != nil {
			return err
		}
		_, err = t.exec("UPDATE head SET hash_key = $1, hash_key_id = $2 WHERE id = 1", sealed, id)
		return err
	})
}

// sealContent is a content as its row has it. The hash of a Secret was made before, so there are keys.
func (s *Store) sealContent(k ledger.Key, hash string, c ledger.Content) (id string, body []byte, err error) {
	if !k.IsSecret() {
		return "", c, nil
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if err := s.keys.loadKeys(false); err != nil {
		return "", nil, err
	}
	return s.keys.sealText(c, hash)
}

// openContent is the content of a row.
func (s *Store) openContent(id, hash string, body []byte) (ledger.Content, error) {
	if id == "" {
		return body, nil
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if err := s.keys.loadKeys(false); err != nil {
		return nil, err
	}
	return s.keys.openSealed(id, body, hash)
}

func (r *keyring) sealText(text []byte, name string) (id string, sealed []byte, err error) {
	first := r.list[0]
	gcm, err := newGCM(first.bytes)
	if err != nil {
		return "", nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return first.id, gcm.Seal(nonce, nonce, text, []byte(name)), nil
}

func (r *keyring) openSealed(id string, sealed []byte, name string) ([]byte, error) {
	key, err := r.findKey(id)
	if err != nil {
		return nil, err
	}
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) < gcm.NonceSize() {
		return nil, errors.New("a sealed content of the ledger is damaged")
	}
	text, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], []byte(name))
	if err != nil {
		return nil, &ledger.Error{Code: ledger.Unprotected, Object: r.path, Cause: err,
			Message: fmt.Sprintf("the Secrets were sealed with another key of the name %q", id),
			Fix:     "restore the key file of this ledger"}
	}
	return text, nil
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return cipher.NewGCM(block)
}
