package files

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"cardea.dev/cardea/internal/source/validcache"
)

// fingerprint tells whether a document changed since the last look. It is quick, as every document of a changed file is
// asked.
type fingerprint uint64

func fingerprintOf(text []byte) fingerprint { return fingerprint(xxhash.Sum64(text)) }

// digest names a text that was valid.
type digest = validcache.Digest

func digestOf(text []byte, isJSON bool) digest {
	if isJSON {
		return validcache.OtherDigestOf(text) // as YAML it may mean something else
	}
	return validcache.DigestOf(text)
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
