package flow_test

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

// TestProjectionsHaveTheValues: what is derived from a projection, merged from it or fetched from it has the values
// that the projection shows.
func TestProjectionsHaveTheValues(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	in := flow.NewSource[int, string](g, "texts")
	lengths := flow.Project(in.Collection(), func(k int, s string) int { return 10*k + len(s) })
	merged := flow.Merge("merged", flow.FromProjected(lengths,
		func(c *flow.Ctx, k, n int) (int, bool) {
			fetched, found := flow.FetchProjected(c, lengths, k)
			if !found || fetched != n {
				t.Errorf("fetched %d (%t), want %d", fetched, found, n)
			}
			return n, true
		}))
	g.Apply("test", func(b *flow.Batch) {
		in.Set(b, 1, "four")
		in.MarkSynced(b)
	})
	g.Settle()
	g.View(func(v flow.View) {
		if n, found := flow.Get(v, merged, 1); !found || n != 14 {
			t.Errorf("merged %d (%t), want 14", n, found)
		}
	})
}
