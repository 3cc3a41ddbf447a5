// Package ledgertest is the contract of a ledger: tests that each implementation of ledger.Ledger passes, on each
// database and over HTTP.
//
// It owns what must hold whoever keeps the ledger. It must never know how one is kept: it calls the interface only. A
// test calls Test from its own goroutine; some tests call the ledger from many. Start reading at Test.
package ledgertest

import (
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// Test runs the contract, several tests at a time. open makes a ledger that nothing was written to, with its clean-up;
// each test has its own.
func Test(t *testing.T, open func(t *testing.T) ledger.Ledger) {
	for _, part := range []map[string]func(rig){
		seed, traps, commits, reads, concurrent, works, registries, accesses, models, proposals, readers,
	} {
		for name, test := range part {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(rig{Ledger: open(t), t: t, ctx: t.Context()})
			})
		}
	}
}
