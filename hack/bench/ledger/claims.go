package main

import (
	"errors"
	"fmt"
	"time"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
)

const (
	claims  = 100 // that are measured
	claimed = 32  // objects of each
	toApply = "apps"
	east    = "east"
)

// claims measures a claim while many objects are due: routes and ConfigMaps in equal parts, in changes of which each
// has both, so that the routes wait.
func (b *bench) claims() error {
	for _, d := range b.databases {
		progress("%s: %d dirty objects", d.name, b.dirty)
		_, l, err := b.fresh(d, "claims", nil)
		if err != nil {
			return err
		}
		if err := errors.Join(b.claiming(d, l), l.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) claiming(d *database, l *store.Store) error {
	err := errors.Join(
		l.SetTarget(b.ctx, ledger.Target{Name: toApply, Server: ledger.Clusters}, "bench"),
		l.SetCluster(b.ctx, ledger.Cluster{Name: east}, "bench"))
	if err != nil {
		return err
	}
	var edits []ledger.Edit
	for i := range b.dirty / 2 {
		edits = append(edits, small(toApply, "ConfigMap", i, 0), small(toApply, "HTTPRoute", i, 0))
	}
	if err := b.fill(l, edits); err != nil {
		return err
	}
	if err := b.claimRow(l, fmt.Sprintf("%s, %d objects due", d.name, b.dirty)); err != nil {
		return err
	}
	// The first change's ConfigMaps are taken and not recorded, so all of its routes wait, and are due before all else.
	for left := atOnce/2 - claims*claimed; left > 0; left -= 1000 {
		if _, err := l.Claim(b.ctx, claim(min(left, 1000))); err != nil {
			return err
		}
	}
	return b.claimRow(l, fmt.Sprintf("%s, %d objects due, the first %d of them wait for others", d.name,
		b.dirty-atOnce/2, atOnce/2))
}

func claim(n int) ledger.ClaimQuery {
	return ledger.ClaimQuery{Cluster: east, Worker: "bench", Max: n, Lease: 10 * time.Minute}
}

// claimRow measures some claims.
func (b *bench) claimRow(l *store.Store, what string) error {
	var took []time.Duration
	before := l.Counts()
	for range claims {
		began := time.Now()
		list, err := l.Claim(b.ctx, claim(claimed))
		if err != nil {
			return err
		}
		if len(list) != claimed {
			return fmt.Errorf("%d objects were claimed, want %d", len(list), claimed)
		}
		took = append(took, time.Since(began))
	}
	c := l.Counts().Since(before)
	row(fmt.Sprintf("%s: a claim of %d, with contents", what, claimed), quantiles(took),
		fmt.Sprintf("%.1f statements, which answer %.0f rows; slowest %.1f ms", float64(c.Statements)/claims,
			float64(c.Read)/claims, table.Milli(quantile(took, 1))), "10 ms")
	return nil
}
