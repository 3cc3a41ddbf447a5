package flow

import "testing"

func TestBeforeIsWhatATryDoesNotChange(t *testing.T) {
	g := New(Config{Check: true})
	s := NewSource[string, int](g, "s")
	g.Apply("test", func(b *Batch) {
		for _, k := range []string{"kept", "changed", "deleted"} {
			s.Set(b, k, 1)
		}
		s.MarkSynced(b)
	})
	g.Settle()
	err := g.Try(func(b *Batch) {
		s.Update(b, "changed", func(was int, found bool) int { return was + 1 })
		s.Update(b, "added", func(was int, found bool) int {
			if was != 0 || found {
				t.Errorf("before it is there, Update gets %d, %v", was, found)
			}
			return 2
		})
		s.Delete(b, "deleted")
	}, func(v View) {
		for k, want := range map[string][2]int{"kept": {1, 1}, "changed": {1, 2}, "added": {0, 2}, "deleted": {1, 0}} {
			before, was := ValueBefore(v, s.Collection(), k)
			after, is := Get(v, s.Collection(), k)
			if [2]int{before, after} != want || was != (want[0] != 0) || is != (want[1] != 0) {
				t.Errorf("%s: %d (%v), then %d (%v); want %v", k, before, was, after, is, want)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	g.View(func(v View) {
		defer func() {
			if recover() == nil {
				t.Error("Before answers outside a Try")
			}
		}()
		ValueBefore(v, s.Collection(), "kept")
	})
}
