package files

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// fingerprint tells whether a document changed since the last look. It is quick, as every document of a changed file is
// asked.
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

// digestOfValue is the digest of an item of a List, which has no text of its own: of a text of it that tells 80.0 from
// 80, which YAML and JSON decode differently.
func digestOfValue(v any) digest {
	return digestOf(appendValue(nil, v), true)
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = append(appendValue(strconv.AppendQuote(b, key), v[key]), ',')
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(appendValue(b, e), ',')
		}
		return append(b, ']')
	case string:
		return strconv.AppendQuote(b, v)
	}
	return fmt.Appendf(b, "%T:%v", v, v) // numbers, booleans and null
}

// ofStandIn is the digest of what stands in for an invalid text, which is no valid text's.
func (d digest) ofStandIn() digest {
	for i := range d {
		d[i] = ^d[i]
	}
	return d
}

func (d digest) compare(e digest) int { return bytes.Compare(d[:], e[:]) }
