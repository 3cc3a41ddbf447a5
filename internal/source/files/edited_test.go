package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestEditedOfADocument: when an object was edited is told of its document. An edit of another document of the file is
// none of it; of a file with several that was read once, its time is the latest that it can have been.
func TestEditedOfADocument(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	first, then := time.Now().Add(-2*time.Hour).Truncate(time.Second), time.Now().Add(-time.Hour).Truncate(time.Second)
	aside := filepath.Join(t.TempDir(), "aside")
	put := func(name, text string, at time.Time) { // at once: nobody reads it as edited just now
		r.must(os.WriteFile(aside, []byte(text), 0o644))
		r.must(os.Chtimes(aside, at, at))
		r.must(os.Rename(aside, filepath.Join(r.dir, name)))
	}
	put("two.yaml", route("a", "one")+route("b", "one"), first)
	put("one.yaml", route("c", "one"), first)
	r.follow()
	r.until("the objects", func() bool { return r.backend("a") == "one" && r.backend("c") == "one" })
	put("two.yaml", route("new", "one")+route("a", "one")+route("b", "two"), then)
	put("one.yaml", "# a comment\n"+route("c", "two"), then)
	r.until("the edits", func() bool {
		return r.backend("b") == "two" && r.backend("c") == "two" && r.backend("new") != ""
	})
	for name, want := range map[string]model.LastEdit{
		"a": {At: first, Latest: true, Where: "two.yaml"}, "b": {At: then, Where: "two.yaml"},
		"new": {At: then, Where: "two.yaml"}, "c": {At: then, Where: "one.yaml"},
	} {
		r.graph.View(func(v flow.View) {
			o, _ := flow.Get(v, r.sources.HTTPRoutes.Collection(), model.Ref(model.KindHTTPRoute, "shop", name))
			if got := *o.Meta.LastEdit; !got.At.Equal(want.At) || got.Latest != want.Latest || got.Where != want.Where {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		})
	}
}
