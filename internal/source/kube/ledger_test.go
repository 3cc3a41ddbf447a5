package kube

import (
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

// TestEditOfALedger: what a ledger applied last is its author's edit; what somebody else did to it afterwards is not.
func TestEditOfALedger(t *testing.T) {
	notes := map[string]string{ledger.AuthorAnnotation: "alice", ledger.MessageAnnotation: "why",
		ledger.ChangeAnnotation: "7"}
	at := time.Now()
	for name, c := range map[string]struct {
		by    string
		notes map[string]string
		want  model.LastEdit
	}{
		"applied":       {ledger.FieldManager, notes, model.LastEdit{By: "alice", At: at, Change: 7, Message: "why"}},
		"edited since":  {"kubectl-edit", notes, model.LastEdit{By: "kubectl-edit", At: at}},
		"without marks": {ledger.FieldManager, nil, model.LastEdit{By: ledger.FieldManager, At: at}},
	} {
		if got := ofLedger(model.LastEdit{By: c.by, At: at}, c.notes); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
