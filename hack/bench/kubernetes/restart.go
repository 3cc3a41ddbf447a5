package main

import (
	"context"
	"fmt"
	"time"

	"cardea.dev/cardea/hack/bench/table"
)

// kills is how often Cardea is killed.
const kills = 3

// restarts kills Cardea and edits a route while it does not run. Traffic goes on all the time.
func (s *stage) restarts(ctx context.Context, t table.Table) error {
	progress("killing Cardea %d times", kills)
	calls := s.traffic(t.N)
	var ready, cpu, answered []time.Duration
	var resources, written float64
	for range kills {
		r, err := s.restart(ctx)
		if err != nil {
			calls.end()
			return err
		}
		ready, cpu, answered = append(ready, r.ready), append(cpu, r.cpu), append(answered, r.answered)
		resources, written = resources+r.resources, written+r.written
	}
	asked, failed := calls.end()
	t.Row("killed, to ready again", fmt.Sprintf("%.1f s, %.1f CPU-s of Cardea", table.Median(ready).Seconds(),
		table.Median(cpu).Seconds()), "",
		t.AtFull("5 s"))
	t.Row("killed, to what was edited meanwhile", fmt.Sprintf("%.1f s", table.Median(answered).Seconds()),
		fmt.Sprintf("sent: %.2f resources; %.2f statuses written", resources/kills, written/kills), "1 resource")
	t.Row("killed, requests meanwhile", fmt.Sprintf("%d of %d failed", failed, asked), "", "none")
	return nil
}

// restarted is what happened after a kill, from the start of the new process.
type restarted struct {
	ready, cpu         time.Duration // until /readyz was answered, and the CPU time that this took
	answered           time.Duration // until the proxy served what was edited while Cardea was away
	resources, written float64       // sent to the proxy, and statuses, until all was at rest
}

// restart kills Cardea once: in a pod that has not died before, so that the kubelet starts it again at once.
func (s *stage) restart(ctx context.Context) (k restarted, err error) {
	for _, replicas := range []int{0, 1} {
		if err := s.scale(ctx, replicas); err != nil {
			return k, err
		}
	}
	pod, err := s.pod(ctx, system, ours)
	if err != nil {
		return k, err
	}
	old, err := s.cardea(ctx)
	if err != nil {
		return k, err
	}
	return k, s.watching(ctx, edited, func(f *follower) error {
		if err := s.KillPod(system, pod.Name); err != nil {
			return err
		}
		mark, generation, err := s.edit(ctx, edited)
		if err != nil {
			return err
		}
		next := running{ip: old.ip}
		err = until(ctx, "Cardea runs again", time.Millisecond, func() (err error) {
			if next.pid, err = pidOfCardea(); err == nil && next.pid == old.pid {
				err = errNotRunning
			}
			return err
		})
		if err != nil {
			return err
		}
		began := time.Now()
		if err := until(ctx, "Cardea is ready", 5*time.Millisecond,
			func() error { _, err := next.get(ctx, "/readyz"); return err }); err != nil {
			return err
		}
		k.ready = time.Since(began)
		if k.cpu, err = next.cpu(); err != nil {
			return err
		}
		at, err := s.proxy.sees(ctx, edited, mark)
		if err != nil {
			return err
		}
		k.answered = at.Sub(began)
		if _, err := f.acked(generation); err != nil {
			return err
		}
		if err := s.quiet(ctx); err != nil {
			return err
		}
		after, err := next.figures(ctx)
		k.resources, k.written = after.Sum(sent), counts{cardea: after}.written()
		return err
	})
}
