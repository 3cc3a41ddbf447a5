package flow

import (
	"fmt"
	"slices"
	"testing"
)

func TestTraceTellsWhatRunsOnAKeyFetched(t *testing.T) {
	g := New(Config{Check: true})
	names, ages := NewSource[string, string](g, "names"), NewSource[string, int](g, "ages")
	Map(names.Collection(), "people", func(c *Ctx, k string, name string) (string, bool) {
		age, _ := Fetch(c, ages.Collection(), name)
		return fmt.Sprint(name, age), true
	})
	g.Apply("test", func(b *Batch) {
		names.Set(b, "a", "ann")
		names.Set(b, "b", "bob")
		ages.Set(b, "ann", 1)
		names.MarkSynced(b)
		ages.MarkSynced(b)
	})
	g.Settle()
	for key, want := range map[string]Dependency{
		"a": {By: "people", Collection: "ages", Key: "ann"}, "b": {By: "people", Collection: "ages", Key: "bob"},
	} {
		if got := g.Trace(key); !slices.Equal(got, []Dependency{want}) {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
	if got := g.Trace(7); got != nil {
		t.Errorf("a key of no collection: %+v", got)
	}
}
