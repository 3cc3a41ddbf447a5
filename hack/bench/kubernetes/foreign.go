package main

import (
	"context"
	"fmt"

	"cardea.dev/cardea/hack/bench/table"
)

// foreignRoutes is the number of routes of another controller's Gateway.
const foreignRoutes = 5_000

// foreign measures what they cost Cardea, which serves t.N routes of its own.
func (s *stage) foreign(ctx context.Context, t table.Table) error {
	r, err := s.cardea(ctx)
	if err != nil {
		return err
	}
	before, err := r.heap(ctx)
	if err != nil {
		return err
	}
	progress("making %d routes of another class", foreignRoutes)
	if err := s.Apply(ctx, []byte(foreignText)); err != nil {
		return err
	}
	stranger := func(i int) string { return fmt.Sprintf("foreign-%05d", i) }
	err = each(ctx, 0, foreignRoutes, func(ctx context.Context,
		i int) error {
		return s.create(ctx, route(stranger(i), "foreign", name(0)))
	})
	if err != nil {
		return err
	}
	c, err := s.cost(ctx, stranger(0), worked, (*follower).made)
	if err != nil {
		return err
	}
	after, err := r.heap(ctx)
	if err != nil {
		return err
	}
	t.Row(fmt.Sprintf("and %d of another class, one edit of theirs", foreignRoutes),
		fmt.Sprintf("%.2f CPU-ms (mean of %d)", c.cpu, worked),
		fmt.Sprintf("%.2f transforms run, %.2f resources sent, %.2f statuses written", c.runs, c.resources, c.written),
		"nothing")
	t.Row(fmt.Sprintf("and %d of another class, memory", foreignRoutes),
		fmt.Sprintf("live heap %+.1f MB", (after-before)/(1<<20)), "", "")
	return nil
}
