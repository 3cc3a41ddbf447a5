package validcache

import (
	"bytes"
	"crypto/sha256"
)

// Digest names a text. Nobody can make an invalid text with the digest of a valid one.
type Digest [16]byte

// DigestOf is the digest of a text.
func DigestOf(text []byte) Digest {
	sum := sha256.Sum256(text)
	return Digest(sum[:16])
}

// OtherDigestOf is another digest of the same text, for a language in which it may mean something else.
func OtherDigestOf(text []byte) Digest {
	sum := sha256.Sum256(text)
	return Digest(sum[16:])
}

// Compare orders digests.
func (d Digest) Compare(e Digest) int { return bytes.Compare(d[:], e[:]) }
