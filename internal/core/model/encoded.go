package model

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// Encoded is configuration as a data plane reads it. It may hold what must not be shown (a key, a password's hash), so
// it prints as its size and a digest: "12 bytes, 9f86d081". Equal contents have equal digests within one process only,
// since with a digest that others can compute, they could test guesses.
type Encoded []byte

// Format implements fmt.Formatter: no verb prints the content.
func (e Encoded) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, digestOf(e)) }

// MarshalText implements encoding.TextMarshaler, which encoding/json and log/slog ask.
func (e Encoded) MarshalText() ([]byte, error) { return []byte(digestOf(e)), nil }

// Rope is Encoded in pieces, one after the other. It prints as they would together.
type Rope [][]byte

// Format implements fmt.Formatter: no verb prints the content.
func (r Rope) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, digestOf(r...)) }

// MarshalText implements encoding.TextMarshaler, which encoding/json and log/slog ask.
func (r Rope) MarshalText() ([]byte, error) { return []byte(digestOf(r...)), nil }

// digestKey is of this process.
var digestKey = func() (key [sha256.Size]byte) {
	_, _ = rand.Read(key[:]) // it never fails
	return key
}()

func digestOf(pieces ...[]byte) string {
	h, size := hmac.New(sha256.New, digestKey[:]), 0
	for _, p := range pieces {
		_, _ = h.Write(p) // it never fails
		size += len(p)
	}
	return fmt.Sprintf("%d bytes, %x", size, h.Sum(nil)[:4])
}
