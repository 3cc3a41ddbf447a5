package plan

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Sites are sites in the order of their precedence.
type Sites = flow.Members[model.SiteKey, model.Site]

// Domain is a domain of a listener and the sites that serve its hosts, highest precedence first: its Own, then those of
// each wider domain of the listener that covers it, from narrow to wide. A site of a wider domain whose rule and match
// stand in the list already adds nothing.
type Domain struct {
	Port  model.PortKey
	Own   Sites
	Wider []Sites
}

// Plan is everything that a dialect renders.
type Plan struct {
	Gateways  *flow.Collection[model.ObjectRef, model.Gateway]
	Ports     *flow.Collection[model.PortKey, model.Port]
	Listeners *flow.Collection[model.ListenerKey, model.Listener]

	Rules *flow.Collection[model.RuleKey, model.Rule]
	Sites *flow.Collection[model.SiteKey, model.Site]
	// Domains holds the domains that have sites of their own and that no more specific listener of the port takes.
	Domains *flow.Collection[model.DomainKey, Domain]

	Backends     *flow.Collection[model.BackendKey, model.Backend]
	Endpoints    *flow.Collection[model.BackendKey, model.Endpoints] // of backends without Hostname; absent is empty
	BackendUsers *flow.Collection[BackendUser, struct{}]

	Secrets *flow.Collection[model.ObjectRef, model.Secret] // those that a listener uses
}

// BackendUser is a route that sends requests to a backend on a Gateway.
type BackendUser struct {
	Route   model.ObjectRef
	Gateway model.ObjectRef
	Backend model.BackendKey
}

// Owner is the route.
func (u BackendUser) Owner() model.ObjectRef { return u.Route }
