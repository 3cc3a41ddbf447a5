package files

import (
	"strings"
	"testing"
)

// A document is new, or the one that was there; a new one has as its pair what stood between the same neighbours.
func TestMatch(t *testing.T) {
	for _, c := range []struct{ before, after, fresh string }{
		{"", "a", "a"},
		{"a b c", "a b c", ""},
		{"a b c", "a x c", "x=b"},
		{"a b c d", "a x y d", "x=b y=c"},
		{"x K y", "a K b", "a=x b=y"},
		{"K y", "a K b", "a b=y"},
		{"x K", "a K b", "a=x b"},
		{"a b", "a x b", "x"},
		{"a b c", "c a", ""},
	} {
		var fl file
		name := map[fingerprint]string{}
		for _, text := range strings.Fields(c.before) {
			d := &document{hash: fingerprintOf([]byte(text))}
			name[d.hash] = text
			fl.docs = append(fl.docs, d)
		}
		var chunks []chunk
		for _, text := range strings.Fields(c.after) {
			chunks = append(chunks, chunk{text: []byte(text)})
		}
		m := matchDocuments(chunks, &fl)
		var fresh []string
		for _, n := range m.fresh {
			text := string(chunks[n.at].text)
			if n.pair != nil {
				text += "=" + name[n.pair.hash]
			}
			fresh = append(fresh, text)
		}
		if got := strings.Join(fresh, " "); got != c.fresh {
			t.Errorf("from %q to %q: new are %q, expected %q", c.before, c.after, got, c.fresh)
		}
		if want := c.after == "c a"; m.reordered != want {
			t.Errorf("from %q to %q: reordered is %v", c.before, c.after, m.reordered)
		}
	}
}
