package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"github.com/cespare/xxhash/v2"
)

// fingerprint tells whether a document changed since the last look. It is quick, as every document of a changed file is asked.
type fingerprint uint64

func fingerprintOf(text []byte) fingerprint { return fingerprint(xxhash.Sum64(text)) }

// digest names a text that was valid. Nobody can make an invalid text with the digest of a valid one.
type digest [16]byte

func digestOf(text []byte, isJSON bool) digest {
	sum := sha256.Sum256(text)
	if isJSON {
		return digest(sum[16:]) // as YAML it may mean something else
	}
	return digest(sum[:16])
}

// digestOfValue is the digest of an item of a List, which has no text of its own.
func digestOfValue(v any) digest {
	text, err := json.Marshal(v)
	if err != nil {
		return digest{} // can't be: it was decoded from text
	}
	return digestOf(text, true)
}

func (d digest) compare(e digest) int { return bytes.Compare(d[:], e[:]) }
