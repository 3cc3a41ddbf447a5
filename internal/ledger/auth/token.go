package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Prefix begins each token of a ledger: scanners for leaked secrets find it.
const Prefix = "cardea_"

const tokenBytes = 32

// MintToken makes a token, and the hash that the ledger keeps of it.
func MintToken() (token, hash string) {
	var secret [tokenBytes]byte
	rand.Read(secret[:]) // never fails: it ends the program before
	token = Prefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return token, HashToken(token)
}

// HashToken is what the ledger keeps of a token: its SHA-256, in hexadecimal digits. A token is random and long, so
// nobody finds it by its hash, and a slow hash would add nothing.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// wellFormed tells whether a text can be a token of a ledger, before a database is asked.
func wellFormed(token string) bool {
	secret, ok := strings.CutPrefix(token, Prefix)
	text, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return ok && err == nil && len(text) == tokenBytes
}
