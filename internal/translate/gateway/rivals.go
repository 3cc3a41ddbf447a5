package gateway

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// rivals are routes of two kinds on one host of one listener. They are never merged: the kind of the oldest gets the
// host (GRPCRouteSpec.hostnames).
type rivals struct {
	// listeners that GRPCRoutes attach to; most have none, and cost nothing
	mixed  *flow.Collection[model.ListenerKey, struct{}]
	oldest *flow.Collection[model.DomainKey, model.ObjectRef] // the route that has a domain of such a listener
}

// claim has the order of a claim: the oldest comes first.
type claim struct{ Order string }

// newRivals makes the claims of all attachments to the listeners that grpc, the attachments of GRPCRoutes, lead to.
func newRivals(all, grpc *flow.Collection[model.ObjectRef, attachments]) rivals {
	listeners := flow.Group(grpc, "grpc/attached", attachedListeners, flow.ByKey)
	r := rivals{mixed: flow.Map(listeners, "grpc/listener",
		func(*flow.Ctx, model.ListenerKey, flow.Members[model.ObjectRef, attachments]) (struct{}, bool) {
			return struct{}{}, true
		})}
	claims := flow.Derive(all, "claim", func(
		c *flow.Ctx, ref model.ObjectRef, a attachments, emit func(model.ClaimKey, claim),
	) {
		var seen []model.DomainKey
		for _, p := range a.Parents {
			for _, l := range p.Listeners {
				if _, mixed := flow.Fetch(c, r.mixed, l.Key); !mixed {
					continue
				}
				for _, d := range l.Domains {
					if domain := (model.DomainKey{Listener: l.Key, Name: d.Name}); !slices.Contains(seen, domain) {
						seen = append(seen, domain)
						emit(model.ClaimKey{Route: ref, Domain: domain}, claim{ageOrder(a.Created) + " " + ref.NamespacedName()})
					}
				}
			}
		}
	})
	byDomain := flow.Group(claims, "claims by domain",
		func(k model.ClaimKey, _ claim) []model.DomainKey { return []model.DomainKey{k.Domain} },
		func(_ model.ClaimKey, c claim) string { return c.Order })
	r.oldest = flow.Map(byDomain, "oldest claim", // thousands of routes ask, and hardly ever is it another one
		func(_ *flow.Ctx, _ model.DomainKey, claims flow.Members[model.ClaimKey, claim]) (model.ObjectRef, bool) {
			first, _ := claims.At(0)
			return first.Route, true
		})
	return r
}

// of is the route that has a domain, if that is of another kind than a route that wants it, too.
func (r rivals) of(c *flow.Ctx, route model.ObjectRef, domain model.DomainKey) (rival model.ObjectRef, found bool) {
	if _, mixed := flow.Fetch(c, r.mixed, domain.Listener); !mixed {
		return rival, false
	}
	oldest, found := flow.Fetch(c, r.oldest, domain)
	return oldest, found && oldest.Kind() != route.Kind()
}

// rivalry says that a route does not get a domain. It is a Warning: the route may have others.
func rivalry(route model.ObjectRef, parent attachment, domain string, rival model.ObjectRef) model.Finding {
	host := "host " + domain
	if domain == model.Every {
		host = "every host"
	}
	return model.Finding{
		Object: route, Parent: parent.Parent, Severity: model.Warning, Condition: "Accepted", Reason: "HostnameConflict",
		Field: fmt.Sprintf("spec.parentRefs[%d]", parent.Index),
		Message: fmt.Sprintf("%s has %s there, as it is older or first by name; a host takes routes of one kind only",
			rival, host),
	}
}
