package main

import (
	"context"
	"fmt"

	"cardea.dev/cardea/hack/bench/table"
)

// memory measures Cardea's after all those edits.
func (s *stage) memory(ctx context.Context, t table.Table) error {
	r, err := s.cardea(ctx)
	if err != nil {
		return err
	}
	now, most, err := r.resident()
	if err != nil {
		return err
	}
	heap, err := r.heap(ctx)
	if err != nil {
		return err
	}
	t.Row("memory of Cardea", fmt.Sprintf("RSS %d MB", now/1e6),
		fmt.Sprintf("live heap %.0f MB, RSS at most %d MB", heap/1e6, most/1e6),
		t.AtFull("RSS 250 MB, live heap 110 MB"))
	return nil
}

// heap is what is live after a collection, in bytes.
func (r running) heap(ctx context.Context) (float64, error) {
	if err := r.admin(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return 0, err
	}
	f, err := r.figures(ctx)
	return f.Sum("go_memstats_heap_alloc_bytes"), err
}
