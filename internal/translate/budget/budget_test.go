package budget

import (
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// TestOverOne: what is one is said so.
func TestOverOne(t *testing.T) {
	one := model.Size{Routes: 1, Expressions: 1}
	for want, b := range map[string]budget{
		"it has 1 route beside 10 that are older, 1 over the budget of 10 for namespace t (--namespace-routes)": {
			limit: model.Size{Routes: 10}, used: model.Size{Routes: 10}, of: "namespace t", flag: "namespace"},
		"it has 1 expression beside 2 that are older, 1 over the budget of 2 for a rule (--rule-expressions)": {
			limit: model.Size{Expressions: 2}, used: model.Size{Expressions: 2}, of: "a rule", flag: "rule"},
	} {
		if got := b.over(one, model.FormWhole); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
