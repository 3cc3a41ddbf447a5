package main

import (
	"context"
	"fmt"
	"time"

	"cardea.dev/cardea/hack/bench/table"
)

// watched is how many edits are made for each time.
const watched = 30

// edited is the route that is edited.
var edited = name(0)

// edits measures what a user waits for: one edit after the other, from before the write to the ACK in the status, and
// as many more to the first changed answer.
func (s *stage) edits(ctx context.Context, t table.Table) error {
	progress("%d edits", 2*watched)
	r, err := s.cardea(ctx)
	if err != nil {
		return err
	}
	before, err := r.figures(ctx)
	if err != nil {
		return err
	}
	var took times
	err = calmly(func() error {
		return s.watching(ctx, edited, func(f *follower) (err error) {
			took, err = s.timed(ctx, f)
			return err
		})
	})
	if err != nil {
		return err
	}
	after, err := r.figures(ctx)
	if err != nil {
		return err
	}
	grown := func(name string) float64 { return after.Sum(name, routesType) - before.Sum(name, routesType) }
	own := 1000 * grown(tookSum) / grown(tookCount)
	progress("the floor of as many")
	least, err := s.floor(ctx)
	if err != nil {
		return err
	}
	s.table = least.bytes
	write := table.Median(took.written)
	row := func(what string, is, floor time.Duration, parts string) {
		t.Row("API write to "+what, fmt.Sprintf("%.1f ms (%.1f ms after it returned)", table.Milli(is),
			table.Milli(is-write)),
			table.BesideFloor(is, floor)+": "+parts, "")
	}
	event, ack, answer := table.Milli(least.event), table.Milli(least.ack), table.Milli(least.answer)
	row("the ACK in the status", table.Median(took.acked), 2*least.event+least.ack,
		fmt.Sprintf("twice write to watch event %.1f, push to ACK %.1f (%.1f from turn to ACK, says Cardea)", event, ack,
			own))
	row("the first changed answer", table.Median(took.answered), least.event+least.answer,
		fmt.Sprintf("write to watch event %.1f, push to answer %.1f", event, answer))
	return nil
}

// times are those of edits, all from before the write.
type times struct{ written, acked, answered []time.Duration }

// timed edits the route again and again.
func (s *stage) timed(ctx context.Context, f *follower) (all times, err error) {
	for range watched {
		began := time.Now()
		_, generation, err := s.edit(ctx, edited)
		if err != nil {
			return all, err
		}
		all.written = append(all.written, time.Since(began))
		at, err := f.acked(generation)
		if err != nil {
			return all, err
		}
		all.acked = append(all.acked, at.Sub(began))
	}
	for range watched {
		took, err := s.answered(ctx, f)
		if err != nil {
			return all, err
		}
		all.answered = append(all.answered, took)
	}
	return all, nil
}

// answered is the time from before a write to the first changed answer. Requests begin when the write has returned:
// earlier ones would only slow it down. It returns when the status has the ACK, too, so that the next edit is made
// alone.
func (s *stage) answered(ctx context.Context, f *follower) (time.Duration, error) {
	began := time.Now()
	mark, generation, err := s.edit(ctx, edited)
	if err != nil {
		return 0, err
	}
	at, err := s.proxy.sees(ctx, edited, mark)
	if err != nil {
		return 0, err
	}
	_, err = f.acked(generation)
	return at.Sub(began), err
}

// watching follows a route while do runs.
func (s *stage) watching(ctx context.Context, route string, do func(*follower) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, err := s.follow(ctx, route)
	if err != nil {
		return err
	}
	return do(f)
}
