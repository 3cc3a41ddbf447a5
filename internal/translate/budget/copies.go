package budget

import (
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// copies count how often the rules of wide domains are copied into narrower hosts, and for whom. Only listeners with
// a wide domain have any; routes at others cost nothing here.
type copies struct {
	wide    *flow.Collection[model.DomainKey, flow.Members[model.ObjectRef, load]]
	hosts   *flow.Collection[model.DomainKey, host]
	byPayer *flow.Collection[payer, flow.Members[copied, int]]
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

// copied counts hosts: those of a namespace that a domain is copied into.
type copied struct {
	Payer payer
	Wide  model.DomainKey
	Kind  model.Kind // routes of two kinds are never merged
}

func newCopies(loads *flow.Collection[model.ObjectRef, load]) copies {
	cs := copies{wide: flow.Group(loads, "wide loads", wideDomains,
		func(_ model.ObjectRef, l load) string { return l.Order })}
	wide := present(cs.wide, "wide domain")
	listeners := present(flow.Group(wide, "wide domains by listener",
		func(d model.DomainKey, _ struct{}) []model.ListenerKey { return []model.ListenerKey{d.Listener} }, flow.ByKey),
		"wide listener")
	claims := flow.Derive(loads, "host claim",
		func(c *flow.Ctx, ref model.ObjectRef, l load, emit func(model.ClaimKey, hostClaim)) {
			for _, p := range l.Places {
				if _, some := flow.Fetch(c, listeners, p.Listener); !some {
					continue
				}
				for _, d := range p.Domains {
					claim := hostClaim{Order: l.Order, Gateway: p.Gateway}
					for _, name := range model.Wider(d.Name, model.Every) {
						if _, found := flow.Fetch(c, wide, model.DomainKey{Listener: p.Listener, Name: name}); found {
							claim.Wider = append(claim.Wider, name)
						}
					}
					if len(claim.Wider) > 0 {
						emit(model.ClaimKey{Route: ref, Domain: model.DomainKey{Listener: p.Listener, Name: d.Name}}, claim)
					}
				}
			}
		})
	byDomain := flow.Group(claims, "host claims by domain",
		func(k model.ClaimKey, _ hostClaim) []model.DomainKey { return []model.DomainKey{k.Domain} },
		func(_ model.ClaimKey, c hostClaim) string { return c.Order })
	cs.hosts = flow.Map(byDomain, "host",
		func(_ *flow.Ctx, _ model.DomainKey, claims flow.Members[model.ClaimKey, hostClaim]) (host, bool) {
			k, first := claims.At(0)
			return host{payer{first.Gateway, k.Route.Namespace()}, k.Route.Kind(), first.Wider}, true
		})
	counted := flow.Group(cs.hosts, "hosts by wide domain", func(k model.DomainKey, h host) (list []copied) {
		for _, name := range h.Wider {
			list = append(list, copied{h.Payer, model.DomainKey{Listener: k.Listener, Name: name}, h.Kind})
		}
		return list
	}, flow.ByKey)
	counts := flow.Map(counted, "copies",
		func(_ *flow.Ctx, _ copied, hosts flow.Members[model.DomainKey, host]) (int, bool) {
			return hosts.Len(), true
		})
	cs.byPayer = flow.Group(counts, "copies by namespace",
		func(k copied, _ int) []payer { return []payer{k.Payer} }, flow.ByKey)
	return cs
}

// present leaves of values that they are there.
func present[K comparable, V any](all *flow.Collection[K, V], name string) *flow.Collection[K, struct{}] {
	return flow.Map(all, name, func(*flow.Ctx, K, V) (struct{}, bool) { return struct{}{}, true })
}

func isWide(domain string) bool { return domain == model.Every || strings.HasPrefix(domain, "*.") }

func wideDomains(_ model.ObjectRef, l load) (list []model.DomainKey) {
	for _, p := range l.Places {
		for _, d := range p.Domains {
			if isWide(d.Name) {
				list = append(list, model.DomainKey{Listener: p.Listener, Name: d.Name})
			}
		}
	}
	return list
}

// in are the copies in a namespace's hosts, the oldest rule first. A rule that has a host itself is not copied into it,
// but it is counted all the same.
func (cs copies) in(c *flow.Ctx, p payer) (list []entry) {
	at := map[model.RuleKey]int{}
	counts, _ := flow.Fetch(c, cs.byPayer, p)
	for k, times := range counts.All() {
		loads, _ := flow.Fetch(c, cs.wide, k.Wide)
		for ref, l := range loads.All() {
			for _, rule := range l.Rules {
				if ref.Kind() != k.Kind {
					continue
				}
				e := rule.entry(p, l.Order, times)
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

// reduced are the copies that are not whole, by the hosts that they are in.
func (cs copies) reduced(
	over *flow.Collection[payer, model.Reduced],
) *flow.Collection[model.DomainKey, model.Reduced] {
	return flow.Map(cs.hosts, "plan/reduced", func(c *flow.Ctx, _ model.DomainKey, h host) (model.Reduced, bool) {
		return flow.Fetch(c, over, h.Payer)
	})
}
