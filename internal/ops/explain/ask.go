package explain

import (
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy"
)

// questionSteps are the steps to an answer. Turns wait while a View is open, so none is open during slow work.
type questionSteps interface {
	gatherRefs(*inquiry)      // takes references
	doSlowWork() error        // does what takes time with them
	stillHolds(*inquiry) bool // whether they still are what would be gathered
	writeStory(*inquiry)      // joins what came of it with what else is known
}

// inquiry is one question on its way. Its View is valid inside gather, holds and tell only.
type inquiry struct {
	*Explainer
	world  *world.World
	view   flow.View
	locate func(model.ObjectRef, string) string
	turns  []flow.Turn
}

// policySnapshot is the view, for policies.
func (q *inquiry) policySnapshot() policy.Snapshot { return policy.Snapshot{View: q.view} }

// maxTries is how often a question begins anew because something has changed while it was worked at. Then turns have to
// wait.
const maxTries = 3

// answerQuestion answers a question with one consistent state.
func (e *Explainer) answerQuestion(a questionSteps) error {
	locate := func(model.ObjectRef, string) string { return "" }
	if e.config.Locate != nil {
		locate = e.config.Locate()
	}
	look := func(do func(*inquiry)) {
		q := &inquiry{Explainer: e, world: e.config.World, locate: locate, turns: e.config.World.Graph.Turns()}
		q.world.Graph.View(func(v flow.View) {
			q.view = v
			do(q)
		})
	}
	for range maxTries {
		look(a.gatherRefs)
		if err := a.doSlowWork(); err != nil {
			return err
		}
		told := false
		look(func(q *inquiry) {
			if told = a.stillHolds(q); told {
				a.writeStory(q)
			}
		})
		if told {
			return nil
		}
	}
	var err error
	look(func(q *inquiry) {
		a.gatherRefs(q)
		if err = a.doSlowWork(); err == nil {
			a.writeStory(q)
		}
	})
	return err
}
