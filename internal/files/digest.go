package files

import (
	"crypto/sha256"

	"github.com/cespare/xxhash/v2"
)

// fingerprint tells whether a document changed since the last look. It is quick, as every document of a changed file is asked.
type fingerprint uint64

func fingerprintOf(text []byte) fingerprint { return fingerprint(xxhash.Sum64(text)) }

// digest names a text that was valid. Nobody can make an invalid text with the digest of a valid one.
type digest [16]byte

func digestOf(text []byte) digest {
	sum := sha256.Sum256(text)
	return digest(sum[:16])
}
