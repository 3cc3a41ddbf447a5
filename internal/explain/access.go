package explain

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/request"
)

// Access is who may ask a backend for what, at each place from which requests go to it.
type Access struct {
	Backend string        `json:"backend"` // "XBackend shop/tools"
	Places  []AccessPlace `json:"places,omitempty"`
}

// AccessPlace is a rule at a listener.
type AccessPlace struct {
	Rule     string          `json:"rule"`     // "rule tools of HTTPRoute shop/web"
	Listener string          `json:"listener"` // "listener https of Gateway infra/edge"
	Grants   []request.Grant `json:"grants,omitempty"`
	// Open: no access policy is stated, so everybody may ask for everything.
	Open bool `json:"open,omitempty"`
}

// AccessKinds are the kinds of backends that may be servers of MCP: Services are, for rules that name MCPTools.
func AccessKinds() []model.Kind {
	return []model.Kind{model.KindMCPBackend, model.KindXBackend, model.KindService}
}

// accessible is the question who may ask a backend for what.
type accessible struct {
	backend model.ObjectRef
	access  Access
}

func (a *accessible) gather(*asked)     {}
func (a *accessible) work() error       { return nil }
func (a *accessible) holds(*asked) bool { return true }

func (a *accessible) tell(q *asked) {
	a.access = Access{Backend: a.backend.String()}
	routes := flow.All(q.view, q.world.Plan.Routes)
	for ref, route := range routes {
		for _, rule := range route.Rules {
			index := slices.IndexFunc(rule.Backends, func(b model.WeightedBackend) bool {
				return b.Backend.Object == a.backend && (b.MCP || a.backend.Kind() != model.KindService)
			})
			if index < 0 {
				continue
			}
			for _, place := range route.Places {
				at := AccessPlace{
					Rule:     fmt.Sprintf("rule %s of %s", rule.Key.Name, ref),
					Listener: fmt.Sprintf("listener %s of %s", place.Listener.Section, place.Gateway),
				}
				pieces := append(q.world.Policies.At(q.view, place.Gateway, place.Listener, rule.Key),
					q.world.Policies.AtRef(q.view, place.Listener, rule.Key, index)...)
				grants, stated := q.world.Policies.Grants(pieces)
				at.Grants, at.Open = grants, !stated
				a.access.Places = append(a.access.Places, at)
			}
		}
	}
}

// Access tells who may ask a backend for what.
func (e *Explainer) Access(backend model.ObjectRef) (Access, error) {
	a := &accessible{backend: backend}
	err := e.ask(a)
	return a.access, err
}
