package gateway

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/precedence"
)

// hostnameOwners are routes of two kinds on one host of one listener. They are never merged: the kind of the oldest
// gets the host (GRPCRouteSpec.hostnames).
type hostnameOwners struct {
	// listeners that routes of rare kinds attach to; most have none, and cost nothing
	mixedListeners *flow.Collection[model.ListenerKey, struct{}]
	owners         *flow.Collection[model.DomainKey, model.ObjectRef] // the route that has a domain of such a listener
}

// hostnameClaim has the order of a claim: the oldest comes first.
type hostnameClaim struct{ Order string }

// newHostnameOwners makes the claims of all attachments to the listeners that rare lead to, the attachments of routes
// of all kinds but the most frequent.
func newHostnameOwners(all, rare *flow.Collection[model.ObjectRef, attachments]) hostnameOwners {
	listeners := flow.Group(rare, "attached/rare", listenerKeysOf, flow.ByKey)
	r := hostnameOwners{mixedListeners: flow.Map(listeners, "listener/rare",
		func(*flow.Ctx, model.ListenerKey, flow.Members[model.ObjectRef, attachments]) (struct{}, bool) {
			return struct{}{}, true
		})}
	claims := flow.Derive(all, "claim", func(
		c *flow.Ctx, ref model.ObjectRef, a attachments, emit func(model.DomainClaimKey, hostnameClaim),
	) {
		var seen []model.DomainKey
		for _, p := range a.Parents {
			for _, l := range p.Listeners {
				if _, mixed := flow.Fetch(c, r.mixedListeners, l.Key); !mixed {
					continue
				}
				for _, d := range l.Domains {
					if domain := (model.DomainKey{Listener: l.Key, Name: d.Name}); !slices.Contains(seen, domain) {
						seen = append(seen, domain)
						emit(model.DomainClaimKey{Route: ref, Domain: domain}, hostnameClaim{precedence.AgeOrder(a.Created) + " " +
							ref.NamespacedName()})
					}
				}
			}
		}
	})
	byDomain := flow.Group(claims, "claims by domain",
		func(k model.DomainClaimKey, _ hostnameClaim) []model.DomainKey { return []model.DomainKey{k.Domain} },
		func(_ model.DomainClaimKey, c hostnameClaim) string { return c.Order })
	r.owners = flow.Map(byDomain, "oldest claim", // thousands of routes ask, and hardly ever is it another one
		func(_ *flow.Ctx, _ model.DomainKey, claims flow.Members[model.DomainClaimKey, hostnameClaim]) (model.ObjectRef,
			bool) {
			first, _ := claims.At(0)
			return first.Route, true
		})
	return r
}

// conflictingOwner is the route that has a domain, if that is of another kind than a route that wants it, too.
func (r hostnameOwners) conflictingOwner(
	c *flow.Ctx, route model.ObjectRef, domain model.DomainKey,
) (rival model.ObjectRef, found bool) {
	if _, mixed := flow.Fetch(c, r.mixedListeners, domain.Listener); !mixed {
		return rival, false
	}
	oldest, found := flow.Fetch(c, r.owners, domain)
	return oldest, found && oldest.Kind() != route.Kind()
}

// conflictFinding says that a route does not get a domain. It is a Warning: the route may have others.
func conflictFinding(route model.ObjectRef, parent attachment, domain string, rival model.ObjectRef) model.Finding {
	host := "host " + domain
	if domain == model.EveryHost {
		host = "every host"
	}
	return model.Finding{
		Object: route, Parent: parent.Parent, Severity: model.Warning, Condition: "Accepted", Reason: "HostnameConflict",
		Field: fmt.Sprintf("spec.parentRefs[%d]", parent.Index),
		Message: fmt.Sprintf("%s has %s there, because it is older or first by name; routes of different kinds can't "+
			"share a host",
			rival, host),
	}
}
