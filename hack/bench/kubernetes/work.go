package main

import (
	"context"
	"fmt"
	"time"

	"cardea.dev/cardea/hack/bench/table"
)

// worked is the number of edits for a mean.
const worked = 200

// work measures what edits cost: Cardea's CPU, what it sends, and which statuses it writes. The proxy serves no traffic
// meanwhile.
func (s *stage) work(ctx context.Context, t table.Table) error {
	progress("the work of %d edits", worked)
	c, err := s.cost(ctx, edited, worked, (*follower).acked)
	if err != nil {
		return err
	}
	if c.bytes != float64(s.table) {
		return fmt.Errorf("Cardea sends %.1f bytes an edit, the floor sent %d: it is no floor", c.bytes, s.table)
	}
	t.Row("one edit, all of Cardea", fmt.Sprintf("%.2f CPU-ms (mean of %d)", c.cpu, worked),
		fmt.Sprintf("sent: %.2f resources, %.0f kB; idle %.1f CPU-ms a second", c.resources, c.bytes/1024, c.idle), "")
	t.Row("status writes an edit", fmt.Sprintf("%.2f", c.written),
		fmt.Sprintf("%.2f more found unnecessary or refused; the API server counts %.2f of routes, %.2f of Gateways",
			c.others, c.routes, c.gateways), "1")
	return nil
}

// cost is what an edit costs, as a mean.
type cost struct {
	cpu              float64 // CPU-ms of Cardea, less what it takes anyway in that time
	idle             float64 // that, in CPU-ms a second
	runs             float64 // of transforms
	resources, bytes float64 // sent to the proxy
	written, others  float64 // statuses, by Cardea's count
	routes, gateways float64 // statuses, by the API server's
}

// cost makes edits of a route, waits after each one as done says, and after all of them until Cardea is at rest. Then
// it waits for the same time without edits.
func (s *stage) cost(
	ctx context.Context, route string, edits int, done func(*follower, int64) (time.Time, error),
) (c cost, err error) {
	if err := s.quiet(ctx); err != nil {
		return c, err
	}
	r, err := s.cardea(ctx)
	if err != nil {
		return c, err
	}
	before, err := s.counts(ctx, r)
	if err != nil {
		return c, err
	}
	busy, took, err := r.during(func() error {
		return s.watching(ctx, route, func(f *follower) error {
			for range edits {
				_, generation, err := s.edit(ctx, route)
				if err != nil {
					return err
				}
				if _, err := done(f, generation); err != nil {
					return err
				}
			}
			return pause(ctx, time.Second) // for what is done later
		})
	})
	if err != nil {
		return c, err
	}
	if err := s.quiet(ctx); err != nil {
		return c, err
	}
	after, err := s.counts(ctx, r)
	if err != nil {
		return c, err
	}
	idle, waited, err := r.during(func() error { return pause(ctx, took) })
	if err != nil {
		return c, err
	}
	mean := func(total float64) float64 { return total / float64(edits) }
	grown := func(name string) float64 { return mean(after.cardea.Sum(name) - before.cardea.Sum(name)) }
	c.idle = table.Milli(idle) / waited.Seconds()
	c.cpu = mean(table.Milli(busy) - c.idle*took.Seconds())
	c.runs, c.resources, c.bytes = grown(runs), grown(sent), grown(sentBytes)
	c.written, c.others = mean(after.written()-before.written()), mean(after.others()-before.others())
	c.routes = mean(after.patched("httproutes") - before.patched("httproutes"))
	c.gateways = mean(after.patched("gateways") - before.patched("gateways"))
	return c, nil
}

// during is Cardea's CPU time while do runs, and how long do took.
func (r running) during(do func() error) (used, took time.Duration, err error) {
	before, err := r.cpu()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	after, err := r.cpu()
	return after - before, took, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
