package prompt

import (
	"encoding/json/jsontext"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

const (
	// The separators of ASCII keep "a","bc" and "ab","c" apart; nobody types them.
	recordSeparator = 0x1e
	unitSeparator   = 0x1f
	// maxBlobBytes is the longest blob, in bytes, that counts as it is. A longer one counts by its hash: an image would
	// otherwise fill the part of the text that is looked at.
	maxBlobBytes = 256
)

// textBuffer grows up to max bytes.
type textBuffer struct {
	bytes []byte
	max   int
}

func (t *textBuffer) addBytes(b []byte) {
	if room := t.max - len(t.bytes); room > 0 {
		t.bytes = append(t.bytes, b[:min(room, len(b))]...)
	}
}

// addString adds what a JSON string says.
func (t *textBuffer) addString(quoted []byte) {
	if len(t.bytes) >= t.max {
		return
	}
	t.bytes, _ = jsontext.AppendUnquote(t.bytes, quoted) // in place of what is no UTF-8, U+FFFD stands
	t.bytes = t.bytes[:min(len(t.bytes), t.max)]
}

func (t *textBuffer) addBlob(b []byte) {
	if len(b) > maxBlobBytes {
		b = strconv.AppendUint(nil, xxhash.Sum64(b), 16)
	}
	t.addBytes(b)
}
