package gateway

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
)

// usedBackends finds what the status of backends has to tell of their use, whatever their kind.
type usedBackends struct {
	*Meaning
	refused *flow.Collection[resource.StandingKey, resource.Refusal]
}

// backendUse is where a backend is used, and what became of it there.
type backendUse struct {
	ref      model.ObjectRef
	Gateways []model.ObjectRef          // where routes that name it serve; sorted, each once
	Denied   []model.ObjectRef          // that accepted none of the routes that name it; the same
	Refused  map[model.ObjectRef]string // by the proxies of a Gateway: their words
	Selected bool                       // its pods have to be found
	Looked   bool                       // and whoever finds them has begun to
	Front    model.Front                // what became of that
	Findings []model.Finding            // about Refused
}

func (m usedBackends) use(c *flow.Ctx, ref model.ObjectRef) backendUse {
	u := backendUse{ref: ref}
	_, u.Selected = flow.Fetch(c, m.Plan.Selections, ref)
	u.Front, u.Looked = flow.Fetch(c, m.in.Fronts.Collection(), ref)
	routes, _ := flow.Fetch(c, m.naming, ref)
	for _, route := range routes.All() {
		u.Gateways, u.Denied = append(u.Gateways, route.Gateways...), append(u.Denied, route.Denied...)
	}
	slices.SortFunc(u.Gateways, model.ObjectRef.Compare)
	u.Gateways = slices.Compact(u.Gateways)
	slices.SortFunc(u.Denied, model.ObjectRef.Compare)
	u.Denied = slices.DeleteFunc(slices.Compact(u.Denied), func(g model.ObjectRef) bool {
		return slices.Contains(u.Gateways, g)
	})
	for _, g := range u.Gateways {
		said, refused := flow.Fetch(c, m.refused, resource.StandingKey{Gateway: g, Origin: resource.Origin{Object: ref}})
		if !refused {
			continue
		}
		if u.Refused == nil {
			u.Refused = map[model.ObjectRef]string{}
		}
		u.Refused[g] = said.Message
		u.Findings = append(u.Findings, model.Finding{
			Object: ref, Condition: conditions.Programmed, Reason: "RejectedByProxy",
			Message: fmt.Sprintf("the proxy of %s refused it: %s", g, said.Message),
		})
	}
	return u
}

// front tells that its pods, which a field selects, can't be found.
func (u backendUse) front(field string) []model.Finding {
	if u.Front.Reason == "" {
		return nil
	}
	return []model.Finding{{
		Object: u.ref, Condition: "ResolvedRefs", Reason: u.Front.Reason, Field: field, Message: u.Front.Message,
	}}
}
