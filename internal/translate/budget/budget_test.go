package budget

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestOverOne: what is one is said so.
func TestOverOne(t *testing.T) {
	one := model.Size{Routes: 1, Expressions: 1}
	for want, b := range map[string]budget{
		"it has 1 route and older rules have 10, together 1 over the budget of 10 for namespace t (--namespace-routes)": {
			limit: model.Size{Routes: 10}, used: model.Size{Routes: 10}, subject: "namespace t", flag: "namespace"},
		"it has 1 expression and older rules have 2, together 1 over the budget of 2 for a rule (--rule-expressions)": {
			limit: model.Size{Expressions: 2}, used: model.Size{Expressions: 2}, subject: "a rule", flag: "rule"},
	} {
		if got := b.checkExcess(one, model.NotDegraded); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestFewAreToldAgain: an edit of the oldest rule of a namespace that is over its budget is told to few others.
func TestFewAreToldAgain(t *testing.T) {
	w := &storyRunner{t: t}
	w.run("limits", "namespace=100")
	w.apply(func(b *flow.Batch) {
		for i := range 50 {
			ref, route := w.readRoute(fmt.Sprintf("t/old-%02d edge/http=a.ex: /a*2", i))
			w.drafts.Set(b, ref, route)
		}
		for i := range 150 {
			ref, route := w.readRoute(fmt.Sprintf("t/young-%03d edge/http=b.ex: /b*2", i))
			w.drafts.Set(b, ref, route)
		}
	})
	const last = "it has 2 routes, but older rules use up the budget of 100 for namespace t (--namespace-routes); "
	if got := w.run("says", "t/young-149"); len(got) != 1 || !strings.Contains(got[0], last) {
		t.Errorf("it says %q, want %q", got, last)
	}
	w.run("put", "t/old-00 edge/http=a.ex: /a*3")
	if n := w.countRuns()["plan/route"] - w.runs["plan/route"]; n > maxExact+1 {
		t.Errorf("an edit was told to %d routes, want %d at most", n, maxExact+1)
	}
	const first = "it has 2 routes and older rules have 99, together 1 over"
	if got := w.run("says", "t/old-49"); len(got) != 1 || !strings.Contains(got[0], first) {
		t.Errorf("it says %q, want %q", got, first)
	}
}
