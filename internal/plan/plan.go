package plan

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Plan is everything that a dialect renders.
type Plan struct {
	Gateways  *flow.Collection[model.ObjectRef, model.Gateway]
	Ports     *flow.Collection[model.PortKey, model.Port]
	Listeners *flow.Collection[model.ListenerKey, model.Listener]
	Routes    *flow.Collection[model.ObjectRef, model.Route]
	Sites     *flow.Collection[model.SiteKey, model.Site]
	Backends  *flow.Collection[BackendKey, model.Backend]     // that a route on the Gateway sends requests to
	Secrets   *flow.Collection[model.ObjectRef, model.Secret] // that a listener uses
}

// BackendKey names a backend as a Gateway's proxies have it.
type BackendKey struct {
	Gateway model.ObjectRef
	Backend model.BackendKey
}
