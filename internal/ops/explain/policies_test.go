package explain

import (
	"reflect"
	"testing"
)

// TestPlain: a value is shown as its author wrote it, not as HTML could hold it.
func TestPlain(t *testing.T) {
	for value, want := range map[string]string{
		`"/a\u003cb"`:               "/a<b",
		`["/a\u003cb", "c\u0026d"]`: `["/a<b", "c&d"]`,
		`["\\u003c", "\u003e"]`:     `["\\u003c", ">"]`, // a backslash, and what is no escape
		`5`:                         "5",
	} {
		if got := unquoteValue(value); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}

// TestAddWords: what is told of an element stands under that element, and what is told of none under the feature.
func TestAddWords(t *testing.T) {
	fields := []Policy{
		{Field: "limits[a].interval"}, {Field: "limits[a].requests"},
		{Field: "limits[ab].when[b].x"}, {Field: "limits[b].requests"},
	}
	addWords(fields, []string{"ab: second", "b: third", "of all", "none: of all, too"})
	want := [][]string{{"of all", "none: of all, too"}, nil, {"ab: second"}, {"b: third"}}
	for i, f := range fields {
		if !reflect.DeepEqual(f.Words, want[i]) {
			t.Errorf("%s has %q, want %q", f.Field, f.Words, want[i])
		}
	}
	addWords(nil, []string{"there is no field"})
}
