package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
)

const (
	// committed is how many objects the ledger has in which clients commit.
	committed = 1000
	// aimedRate is how many edits a second are to be kept up.
	aimedRate = 1000
)

// commits measures changes of one edit: by clients of which each waits for its answer, and at a fixed rate.
func (b *bench) commits() error {
	for _, d := range b.databases {
		var edits []ledger.Edit
		for i := range committed {
			edits = append(edits, small(ledger.DefaultTarget, "HTTPRoute", i, 0))
		}
		_, l, err := b.fresh(d, "commits", edits)
		if err != nil {
			return err
		}
		for _, clients := range []int{1, 8, 64} {
			progress("%s, %d clients", d.name, clients)
			took, c, err := b.clients(l, clients)
			if err != nil {
				return errors.Join(err, l.Close())
			}
			target := ""
			if d.name == "PostgreSQL" && clients > 8 {
				target = "1,000 a second, p99 50 ms"
			}
			row(fmt.Sprintf("%s, clients: %d, each commits one edit after the other", d.name, clients),
				fmt.Sprintf("%.0f changes a second; %s", float64(len(took))/b.lasting.Seconds(), quantiles(took)),
				fmt.Sprintf("%.1f changes and %.1f statements a transaction", float64(len(took))/float64(c.Transactions),
					float64(c.Statements)/float64(c.Transactions)), target)
		}
		progress("%s, %d a second", d.name, aimedRate)
		took, c, err := b.rate(l)
		if err := errors.Join(err, l.Close()); err != nil {
			return err
		}
		target := ""
		if d.name == "PostgreSQL" {
			target = "p99 50 ms"
		}
		row(fmt.Sprintf("%s, %d changes a second for %.0f s, whenever the answers come", d.name, aimedRate,
			b.lasting.Seconds()), quantiles(took)+", from when each was due",
			fmt.Sprintf("%.1f changes a transaction", float64(len(took))/float64(c.Transactions)), target)
	}
	return nil
}

// clients has clients commit for a while, each its own objects.
func (b *bench) clients(l *store.Store, n int) (took []time.Duration, c store.Counts, err error) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	before := l.Counts()
	end := time.Now().Add(b.lasting)
	for client := range n {
		wait.Go(func() {
			var own []time.Duration
			var failed error
			for i := 0; failed == nil && time.Now().Before(end); i++ {
				object := (client + i*n) % (committed / n * n)
				began := time.Now()
				_, failed = l.Commit(b.ctx, ledger.Draft{Author: "bench", Message: "an edit",
					Edits: []ledger.Edit{small(ledger.DefaultTarget, "HTTPRoute", object, int(began.UnixNano()))}})
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			took, err = append(took, own...), errors.Join(err, failed)
		})
	}
	wait.Wait()
	return took, l.Counts().Since(before), err
}

// rate commits at a fixed rate, whether those before were answered or not. A time begins when a commit was due.
func (b *bench) rate(l *store.Store) (took []time.Duration, c store.Counts, err error) {
	n := int(b.lasting.Seconds() * aimedRate)
	took = make([]time.Duration, n)
	failed := make([]error, n)
	var wait sync.WaitGroup
	before, began := l.Counts(), time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / aimedRate)
		time.Sleep(time.Until(due))
		wait.Go(func() {
			_, failed[i] = l.Commit(b.ctx, ledger.Draft{Author: "bench", Message: "an edit",
				Edits: []ledger.Edit{small(ledger.DefaultTarget, "HTTPRoute", i%committed, int(due.UnixNano()))}})
			took[i] = time.Since(due)
		})
	}
	wait.Wait()
	return took, l.Counts().Since(before), errors.Join(failed...)
}

// quantiles are the median and the 99th percentile.
func quantiles(took []time.Duration) string {
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", table.Milli(quantile(took, 0.5)), table.Milli(quantile(took, 0.99)))
}

// quantile is the time that a part of all times, from 0 to 1, is not above.
func quantile(took []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}
