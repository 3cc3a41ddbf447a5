package budget

import (
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// hostCopies count how often the rules of wide domains are copied into narrower hosts, and for whom. Only listeners
// with a wide domain have any; routes at others cost nothing here.
type hostCopies struct {
	wide    *flow.Collection[model.DomainKey, flow.Members[model.ObjectRef, routeCost]]
	hosts   *flow.Collection[model.DomainKey, host]
	byPayer *flow.Collection[payer, flow.Members[copyKey, int]]
}

// host is a domain that wider ones of its listener are copied into.
type host struct {
	Payer payer // the namespace of the oldest route that has the domain
	Kind  model.Kind
	Wider []string
}

// hostClaim is a route's claim to a host.
type hostClaim struct {
	Order   string
	Gateway model.ObjectRef
	Wider   []string
}

// copyKey counts hosts: those of a namespace that a domain is copied into.
type copyKey struct {
	Payer payer
	Wide  model.DomainKey
	Kind  model.Kind // routes of two kinds are never merged
}

func newCopies(loads *flow.Collection[model.ObjectRef, routeCost]) hostCopies {
	cs := hostCopies{wide: flow.Group(loads, "wide loads", wideDomains,
		func(_ model.ObjectRef, l routeCost) string { return l.Order })}
	wide := keysOnly(cs.wide, "wide domain")
	listeners := keysOnly(flow.Group(wide, "wide domains by listener",
		func(d model.DomainKey, _ struct{}) []model.ListenerKey { return []model.ListenerKey{d.Listener} }, flow.ByKey),
		"wide listener")
	claims := flow.Derive(loads, "host claim",
		func(c *flow.Ctx, ref model.ObjectRef, l routeCost, emit func(model.DomainClaimKey, hostClaim)) {
			for _, p := range l.Places {
				if _, some := flow.Fetch(c, listeners, p.Listener); !some {
					continue
				}
				for _, d := range p.Domains {
					claim := hostClaim{Order: l.Order, Gateway: p.Gateway}
					for _, name := range model.WiderDomains(d.Name, model.EveryHost) {
						if _, found := flow.Fetch(c, wide, model.DomainKey{Listener: p.Listener, Name: name}); found {
							claim.Wider = append(claim.Wider, name)
						}
					}
					if len(claim.Wider) > 0 {
						emit(model.DomainClaimKey{Route: ref, Domain: model.DomainKey{Listener: p.Listener, Name: d.Name}}, claim)
					}
				}
			}
		})
	byDomain := flow.Group(claims, "host claims by domain",
		func(k model.DomainClaimKey, _ hostClaim) []model.DomainKey { return []model.DomainKey{k.Domain} },
		func(_ model.DomainClaimKey, c hostClaim) string { return c.Order })
	cs.hosts = flow.Map(byDomain, "host",
		func(_ *flow.Ctx, _ model.DomainKey, claims flow.Members[model.DomainClaimKey, hostClaim]) (host, bool) {
			k, first := claims.At(0)
			return host{payer{first.Gateway, k.Route.Namespace()}, k.Route.Kind(), first.Wider}, true
		})
	counted := flow.Group(cs.hosts, "hosts by wide domain", func(k model.DomainKey, h host) (list []copyKey) {
		for _, name := range h.Wider {
			list = append(list, copyKey{h.Payer, model.DomainKey{Listener: k.Listener, Name: name}, h.Kind})
		}
		return list
	}, flow.ByKey)
	counts := flow.Map(counted, "copies",
		func(_ *flow.Ctx, _ copyKey, hosts flow.Members[model.DomainKey, host]) (int, bool) {
			return hosts.Len(), true
		})
	cs.byPayer = flow.Group(counts, "copies by namespace",
		func(k copyKey, _ int) []payer { return []payer{k.Payer} }, flow.ByKey)
	return cs
}

// keysOnly leaves of values that they are there.
func keysOnly[K comparable, V any](all *flow.Collection[K, V], name string) *flow.Collection[K, struct{}] {
	return flow.Map(all, name, func(*flow.Ctx, K, V) (struct{}, bool) { return struct{}{}, true })
}

func isWide(domain string) bool { return domain == model.EveryHost || strings.HasPrefix(domain, "*.") }

func wideDomains(_ model.ObjectRef, l routeCost) (list []model.DomainKey) {
	for _, p := range l.Places {
		if p.Carries != "" {
			continue // connections don't fall through to wider hosts
		}
		for _, d := range p.Domains {
			if isWide(d.Name) {
				list = append(list, model.DomainKey{Listener: p.Listener, Name: d.Name})
			}
		}
	}
	return list
}

// entriesFor are the copies in a namespace's hosts, the oldest rule first. A rule that has a host itself is not copied
// into it, but it is counted all the same.
func (cs hostCopies) entriesFor(c *flow.Ctx, p payer) (list []entry) {
	at := map[model.RuleKey]int{}
	counts, _ := flow.Fetch(c, cs.byPayer, p)
	for k, times := range counts.All() {
		loads, _ := flow.Fetch(c, cs.wide, k.Wide)
		for ref, l := range loads.All() {
			for _, rule := range l.Rules {
				if ref.Kind() != k.Kind {
					continue
				}
				e := rule.newEntry(p, l.Order, times)
				if i, found := at[rule.Key]; found {
					for form, size := range e.Sizes {
						list[i].Sizes[form] = list[i].Sizes[form].Plus(size)
					}
					continue
				}
				at[rule.Key] = len(list)
				list = append(list, e)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return strings.Compare(a.Order, b.Order) })
	return list
}

// degradedByHost are the copies that are not whole, by the hosts that they are in.
func (cs hostCopies) degradedByHost(
	over *flow.Collection[payer, model.DegradedRules],
) *flow.Collection[model.DomainKey, model.DegradedRules] {
	return flow.Map(cs.hosts, "plan/reduced", func(c *flow.Ctx, _ model.DomainKey, h host) (model.DegradedRules, bool) {
		return flow.Fetch(c, over, h.Payer)
	})
}
