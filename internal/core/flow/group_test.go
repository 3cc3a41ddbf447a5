package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

// Members are sorted by their order string, then by key, whatever the order in which they came. A rebuild can't tell:
// it would sort wrongly in the same way.
func TestMembersAreInOrder(t *testing.T) {
	type item struct {
		Group int
		Order string
	}
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[int, item](g, "items")
	groups := flow.Group(s.Collection(), "groups", func(_ int, x item) []int { return []int{x.Group, x.Group + 1} },
		func(_ int, x item) string { return x.Order })
	g.Apply("start", s.MarkSynced)

	rnd := rand.New(rand.NewPCG(5, 6))
	now := map[int]item{}
	for turn := range 200 {
		g.Apply("edit", func(b *flow.Batch) {
			for range 1 + rnd.IntN(10) {
				k, x := rnd.IntN(60), item{rnd.IntN(3), fmt.Sprint(rnd.IntN(8))}
				if rnd.IntN(3) == 0 {
					s.Delete(b, k)
					delete(now, k)
					continue
				}
				s.Set(b, k, x)
				now[k] = x
			}
		})
		g.Settle()
		for n := range 4 {
			var want []string
			for k, x := range now {
				if x.Group == n || x.Group+1 == n {
					want = append(want, fmt.Sprintf("%s %03d", x.Order, k))
				}
			}
			slices.Sort(want)
			m, ok := get(g, groups, n)
			var got []string
			for i := range m.Len() {
				k, x := m.At(i)
				got = append(got, fmt.Sprintf("%s %03d", x.Order, k))
			}
			if !slices.Equal(got, want) || ok != (len(want) > 0) {
				t.Fatalf("turn %d, group %d, %t: %v, want %v", turn, n, ok, got, want)
			}
		}
	}
}
