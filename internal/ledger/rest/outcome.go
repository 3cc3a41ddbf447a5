package rest

import (
	"strings"

	"cardea.dev/cardea/internal/ledger"
)

// outcome is how far a change got by what became of its objects (ledger.ProgressOf), and why: the words of who refused
// it, or what the first object that is not there yet waits for.
func outcome(c ledger.Change, list []ledger.Status) (stage ledger.Stage, why string) {
	stage, progress := ledger.ProgressOf(c, list)
	for _, p := range progress {
		switch {
		case p.Stage == stage && stage == ledger.IsRefused:
			return stage, p.Key.String() + ": " + strings.Join(p.Words, "; ")
		case stage != ledger.IsRefused && !p.Decided():
			return stage, p.Key.String() + ": " + strings.Join(p.Waits, "; ")
		}
	}
	return stage, ""
}
