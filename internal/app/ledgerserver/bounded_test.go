package ledgerserver

import (
	"context"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
)

// TestDryRunsOfACaller: so many objects of a caller are checked by API servers at once; others of theirs wait, and
// those of another caller do not.
func TestDryRunsOfACaller(t *testing.T) {
	asked, goOn := make(chan string), make(chan struct{})
	check := limitDryRuns(rest.NewLimits(0), func(ctx context.Context, _ ledger.Target, _ map[string]any) error {
		asked <- rest.SubjectOf(ctx)
		<-goOn
		return nil
	})
	var all sync.WaitGroup
	start := func(who string) {
		ctx := rest.WithCaller(t.Context(), ledger.Caller{Subject: who}, "POST /")
		all.Go(func() {
			if err := check(ctx, ledger.Target{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	for range rest.DryRuns.PerCaller + 1 {
		start("alice")
	}
	for range rest.DryRuns.PerCaller {
		<-asked
	}
	start("bob")
	if who := <-asked; who != "bob" {
		t.Errorf("%s was let in, want bob", who)
	}
	close(goOn)
	<-asked
	all.Wait()
}
