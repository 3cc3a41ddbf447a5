package rest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/ledger/wire"
)

// TestContentsAreNotDecodedForTheSchema: a body of contents takes little more memory than it has bytes, whatever the
// contents are.
func TestContentsAreNotDecodedForTheSchema(t *testing.T) {
	edit := fmt.Sprintf(`{"kind": "A", "name": "a", "content": {"a": [%s1]}}`, strings.Repeat("[],", 1<<20/3))
	text := []byte(`{"edits": [` + strings.Repeat(edit+",", 7) + edit + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var any any
	var d wire.Draft
	if err := decodeJSON(text, &any); err != nil {
		t.Fatal(err)
	}
	if err := decodeJSON(text, &d); err != nil || len(d.Edits) != 8 || len(d.Edits[7].Content) < 1<<20 {
		t.Fatalf("%d edits, %v", len(d.Edits), err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 3*uint64(len(text)) {
		t.Errorf("%d bytes took %d", len(text), took)
	}
}

// TestOutline: contents are empty objects, and everything else is as it is.
func TestOutline(t *testing.T) {
	for text, want := range map[string]string{
		`{"edits": [{"content": {"a": [1]}, "delete": true}]}`: `map[edits:[map[content:map[] delete:true]]]`,
		`{"content": [1, 2]}`: `map[content:[1 2]]`, `{"content": null, "x": 1.5}`: `map[content:<nil> x:1.5]`,
		`[]`: `[]`, `"a"`: `a`, `null`: `<nil>`,
	} {
		got, err := outlineJSON([]byte(text))
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for name, text := range map[string]string{
		"two values": `{} {}`, "twice": `{"a": 1, "a": 2}`, "twice in a content": `{"content": {"a": 1, "a": 2}}`,
		"no end": `{"content": {`, "nothing": ``, "too many": "[" + strings.Repeat("[],", maxValues) + "1]",
	} {
		if got, err := outlineJSON([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
