package rest

import (
	"context"
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// refusedBefore says that a change was refused before others took its place, which change undid it, and the words of
// the refusal; "": it was not refused.
func refusedBefore(ctx context.Context, r ledger.Reader, c ledger.Change, list []ledger.Status) (string, error) {
	stage, progress := ledger.ProgressOf(c, list)
	for _, p := range progress {
		if stage == ledger.Superseded && p.Refused {
			undoneBy, err := ledger.UndoneBy(ctx, r, c)
			return fmt.Sprintf("%s: %s: %s", p.DescribeOutcome(undoneBy), p.Key, strings.Join(p.Words, "; ")), err
		}
	}
	return "", nil
}

// describeOutcome is how far a change got by what became of its objects (ledger.ProgressOf), and why: the words of who
// refused it, or what the first object that is not there yet waits for.
func describeOutcome(c ledger.Change, list []ledger.Status) (stage ledger.Stage, why string) {
	stage, progress := ledger.ProgressOf(c, list)
	for _, p := range progress {
		switch {
		case p.Stage == stage && stage == ledger.IsRefused:
			return stage, p.Key.String() + ": " + strings.Join(p.Words, "; ")
		case stage != ledger.IsRefused && !p.IsFinal():
			return stage, p.Key.String() + ": " + strings.Join(p.Waits, "; ")
		}
	}
	return stage, ""
}
