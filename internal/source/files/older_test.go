package files

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// TestOlder: what has an older version serving is told, with the place of the newest one, until it is mended.
func TestOlder(t *testing.T) {
	kept := func(old, new string) string { return strings.Replace(shopFile, old, new, 1) }
	for name, story := range map[string]struct{ text, want string }{
		"as it was":             {shopFile, ""},
		"a mistake in one":      {kept("parentRefs", "parentRef"), "HTTPRoute shop/web shop.yaml:13"},
		"a mistake in its kind": {kept("HTTPRoute", "HTTPRoutee"), "HTTPRoute shop/web shop.yaml"},
		"a document is no YAML": {kept("  parentRefs: [", "  parentRefs: "), "HTTPRoute shop/web shop.yaml:13"},
		"a file is no text": {"\xff" + shopFile,
			"Gateway shop/web shop.yaml:1, HTTPRoute shop/web shop.yaml:1, XBackend shop/web shop.yaml:1"},
		"a document that is new": {shopFile + "---\nkind: Namespace\napiVersion: v1\nmetadata: {nam: x}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStill(t)
			s.read("shop.yaml", shopFile)
			s.look(lookRequest{all: true})
			older := func(want string) {
				t.Helper()
				var list []string
				now := s.folder.OutdatedObjects()
				for _, ref := range slices.SortedFunc(maps.Keys(now), model.ObjectRef.Compare) {
					list = append(list, ref.String()+" "+
						strings.TrimPrefix(now[ref], "the newest version or its file has a mistake: "))
				}
				slices.Sort(list)
				if got := strings.Join(list, ", "); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			older("")
			s.read("shop.yaml", story.text)
			older(story.want)
			s.read("shop.yaml", shopFile)
			older("")
		})
	}
}
