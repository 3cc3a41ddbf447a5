package explain

import (
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy"
)

// steps are the steps to an answer. Turns wait while a View is open, so none is open during slow work.
type steps interface {
	gather(*asked)     // takes references
	work() error       // does what takes time with them
	holds(*asked) bool // whether they still are what would be gathered
	tell(*asked)       // joins what came of it with what else is known
}

// asked is one question on its way. Its View is valid inside gather, holds and tell only.
type asked struct {
	*Explainer
	world  *world.World
	view   flow.View
	locate func(model.ObjectRef, string) string
	turns  []flow.Turn
}

// sight is the view, for policies.
func (q *asked) sight() policy.Sight { return policy.Sight{View: q.view} }

// tries is how often a question begins anew because something has changed while it was worked at. Then turns have to
// wait.
const tries = 3

// ask answers a question with one consistent state.
func (e *Explainer) ask(a steps) error {
	locate := func(model.ObjectRef, string) string { return "" }
	if e.config.Locate != nil {
		locate = e.config.Locate()
	}
	look := func(do func(*asked)) {
		q := &asked{Explainer: e, world: e.config.World, locate: locate, turns: e.config.World.Graph.Turns()}
		q.world.Graph.View(func(v flow.View) {
			q.view = v
			do(q)
		})
	}
	for range tries {
		look(a.gather)
		if err := a.work(); err != nil {
			return err
		}
		told := false
		look(func(q *asked) {
			if told = a.holds(q); told {
				a.tell(q)
			}
		})
		if told {
			return nil
		}
	}
	var err error
	look(func(q *asked) {
		a.gather(q)
		if err = a.work(); err == nil {
			a.tell(q)
		}
	})
	return err
}
