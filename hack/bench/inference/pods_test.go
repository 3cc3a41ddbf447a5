package main

import (
	"fmt"
	"slices"
	"testing"
)

// TestOnePod: a change of one pod sends the endpoints of its pool and nothing else, and takes as many transforms among
// 10,000 pods as among 100.
func TestOnePod(t *testing.T) {
	const most = 20 // transforms
	var first []uint64
	for _, n := range []int{10, 100} {
		p := newPools(n, n)
		var runs []uint64
		for _, e := range p.edits() {
			w := p.Work(e.make)
			runs = append(runs, w.Runs)
			want := []string{fmt.Sprintf("Endpoints inferencepool/bench/app-%05d", n/2)}
			if got := names(w); !slices.Equal(got, want) || w.Runs == 0 || w.Runs > most {
				t.Errorf("%d pods: %s: %d transforms run, sent: %q, want at most %d and %q", n*n, e.what, w.Runs, got, most, want)
			}
		}
		if first == nil {
			first = runs
		}
		if !slices.Equal(runs, first) {
			t.Errorf("%d pods: transforms %d, but %d among 100", n*n, runs, first)
		}
	}
}
