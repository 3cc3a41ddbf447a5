package envoy

import (
	"cmp"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// virtualHostsField is RouteConfiguration.virtual_hosts.
const virtualHostsField = 2

// tablePlacement is where a listener's virtual hosts live, and what the listener decides of rules.
type tablePlacement struct {
	Table    resource.Key
	Context  route.ListenerContext
	Listener model.ListenerKey
	Hostname string // the listener's
	SoleUser bool   // no other listener has the table; known where listeners may state settings
}

func placeListener(l model.Listener) tablePlacement {
	h := tablePlacement{
		Table: naming.TableKey(l),
		Context: route.ListenerContext{
			Scheme: "http", Port: l.Port.Number, Section: naming.Section(l.Gateway, l.Key),
		},
		Listener: l.Key, Hostname: l.Hostname,
	}
	if l.Protocol == model.HTTPS {
		h.Context.Scheme = "https"
	}
	return h
}

// virtualHost is a part of a table.
type virtualHost struct {
	Table resource.Key
	Part  *resource.Part
}

// virtualHosts renders each domain to a virtual host: the bytes of the rules that serve it, in the order of their
// entries. A request that none of the domain's own takes falls through to those of the wider domains of the same
// listener, from narrow to wide.
func (s stages) virtualHosts(
	domains *flow.Collection[model.DomainKey, plan.RouteEntries],
	reduced *flow.Collection[model.DomainKey, model.DegradedRules],
) *flow.Collection[model.DomainKey, virtualHost] {
	return flow.Map(domains, "envoy/virtual-hosts",
		func(c *flow.Ctx, k model.DomainKey, own plan.RouteEntries) (virtualHost, bool) {
			h, ok := flow.Fetch(c, s.placements, k.Listener)
			if !ok {
				return virtualHost{}, false
			}
			v := hostBuilder{stages: s, home: h}
			v.hostSettings = s.settingsAtListener(c, k.Listener, h)
			for _, name := range model.WiderDomains(k.Name, h.Hostname) {
				if entries, ok := flow.Fetch(c, domains, model.DomainKey{Listener: k.Listener, Name: name}); ok &&
					sameRouteKind(own, entries) {
					v.wider = append(v.wider, entries)
				}
			}
			v.addEntries(c, own, nil)
			v.addPreflights(own)
			var forms model.DegradedRules
			if len(v.wider) > 0 {
				forms, _ = flow.Fetch(c, reduced, k)
			}
			for _, entries := range v.wider {
				v.addEntries(c, entries, forms)
				v.addPreflights(entries)
			}
			return virtualHost{Table: h.Table, Part: v.buildPart(k.Name)}, true
		})
}

// sameRouteKind tells whether the routes of two domains are of one kind, as those of each are: HTTPRoutes and
// GRPCRoutes are never merged (GRPCRouteRule.matches).
func sameRouteKind(a, b plan.RouteEntries) bool {
	first, _ := a.At(0)
	second, _ := b.At(0)
	return first.Rule.Route.Kind() == second.Rule.Route.Kind()
}

// notFoundHost answers 404 for a domain.
func notFoundHost(domain string) *resource.Part {
	var v hostBuilder
	return v.buildPart(domain)
}

// hostBuilder gathers a virtual host's routes.
type hostBuilder struct {
	stages
	home  tablePlacement
	wider []plan.RouteEntries // none: no entry can come twice

	hostSettings []placedSetting // settings that stand in the virtual host

	routes           [][]byte
	fragments        []resource.Fragment
	needs            []resource.Name
	listedMatches    map[entryMatch]struct{}
	rules            map[model.RuleKey]servedRule
	preflightMatches map[entryMatch]struct{} // matches that have a route for their preflights
}

type entryMatch struct {
	Rule  model.RuleKey
	Match int
}

// addEntries adds the routes of entries; those of some rules may be copies for which there is no room as they are.
func (v *hostBuilder) addEntries(c *flow.Ctx, entries plan.RouteEntries, reduced model.DegradedRules) {
	if v.rules == nil {
		v.rules = make(map[model.RuleKey]servedRule, entries.Len())
	}
	v.routes = slices.Grow(v.routes, entries.Len())
	for k := range entries.All() {
		if len(v.wider) > 0 {
			m := entryMatch{k.Rule, k.Match}
			if _, ok := v.listedMatches[m]; ok {
				continue
			}
			if v.listedMatches == nil {
				v.listedMatches = make(map[entryMatch]struct{})
			}
			v.listedMatches[m] = struct{}{}
		}
		if r := v.fetchRule(c, k.Rule, entries, reduced); k.Match < len(r.Routes) && r.Routes[k.Match] != nil {
			v.routes = append(v.routes, r.Routes[k.Match])
		}
	}
}

// fetchRule fetches a rule at its first entry, and lists its fragment and what it needs.
func (v *hostBuilder) fetchRule(
	c *flow.Ctx, k model.RuleKey, entries plan.RouteEntries, reduced model.DegradedRules,
) servedRule {
	r, ok := v.rules[k]
	if ok {
		return r
	}
	if r, ok = v.serveRule(c, k, v.home); ok {
		if form := reduced[k]; form != model.NotDegraded {
			r.Routes, r.Needs, r.Preflights = v.disableInherited(c, v.home, v.degradeRule(c, k, form, entries)), nil, nil
		}
		v.fragments = append(v.fragments, r.Fragment)
		v.needs = append(v.needs, r.Needs...)
	}
	v.rules[k] = r
	return r
}

// degradeRule renders a rule in a form that is not whole: to a route for each match or, if its one match is another
// one, in the place of the last.
func (v *hostBuilder) degradeRule(
	c *flow.Ctx, k model.RuleKey, form model.Degradation, entries plan.RouteEntries,
) [][]byte {
	rule, _ := v.findRule(c, k)
	if form == model.DegradedNoRegex {
		return substituteRoutes(rule)
	}
	routes := make([][]byte, len(rule.Matches))
	for _, in := range renderRule(route.Rule{Rule: rule.DegradeTo(form)}, v.home.Context).Routes { // one, or none
		for entry := range entries.All() {
			if entry.Rule == k {
				clear(routes)
				routes[entry.Match] = in
			}
		}
	}
	return routes
}

// buildPart lays the virtual host's own bytes, in one piece with the field's tag, before those of the routes, which are
// not copied.
func (v *hostBuilder) buildPart(domain string) *resource.Part {
	own := message.MustMarshal(&routev3.VirtualHost{Name: domain, Domains: hostNames(domain)})
	pieces := append(encodeSettings(virtualHostConfigField, settingsOf(v.hostSettings)), v.routes...)
	size := len(own)
	for _, b := range pieces {
		size += len(b)
	}
	head := protowire.AppendTag(nil, virtualHostsField, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(size))
	part := message.NewPart(domain, append([][]byte{append(head, own...)}, pieces...)...)
	part.Fragments, part.Needs = v.fragments, v.needs
	addSettings(part, v.hostSettings)
	return part
}

func compareNames(a, b resource.Name) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

// hostNames are the hosts of a domain as clients write them: a name may end in a dot. Envoy can strip that, but then
// the backend does not see Host as it was sent.
func hostNames(domain string) []string {
	if domain == "*" {
		return []string{domain}
	}
	return []string{domain, domain + "."}
}
