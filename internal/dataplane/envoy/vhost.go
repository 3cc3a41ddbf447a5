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
)

// virtualHostsField is RouteConfiguration.virtual_hosts.
const virtualHostsField = 2

// home is where a listener's virtual hosts live, and what the listener decides of rules.
type home struct {
	Table    resource.Key
	Place    place
	Listener model.ListenerKey
	Hostname string // the listener's
	Alone    bool   // no other listener has the table; known where listeners may state settings
}

func listenerHome(l model.Listener) home {
	h := home{
		Table: tableOf(l),
		Place: place{Scheme: "http", Port: l.Port.Number, Section: l.Key.Section}, Listener: l.Key,
		Hostname: l.Hostname,
	}
	if l.Protocol == model.HTTPS {
		h.Place.Scheme = "https"
	}
	return h
}

// virtualHost is a part of a table.
type virtualHost struct {
	Table resource.Key
	Part  *resource.Part
}

// virtualHosts renders each domain to a virtual host: the bytes of the rules that serve it, in the order of their
// sites. A request that none of the domain's own takes falls through to those of the wider domains of the same
// listener, from narrow to wide.
func (s stages) virtualHosts(
	domains *flow.Collection[model.DomainKey, plan.Sites],
	reduced *flow.Collection[model.DomainKey, model.Reduced],
) *flow.Collection[model.DomainKey, virtualHost] {
	return flow.Map(domains, "envoy/virtual-hosts",
		func(c *flow.Ctx, k model.DomainKey, own plan.Sites) (virtualHost, bool) {
			h, ok := flow.Fetch(c, s.homes, k.Listener)
			if !ok {
				return virtualHost{}, false
			}
			v := assembly{stages: s, home: h}
			v.own = s.atListener(c, k.Listener, h)
			for _, name := range model.Wider(k.Name, h.Hostname) {
				if sites, ok := flow.Fetch(c, domains, model.DomainKey{Listener: k.Listener, Name: name}); ok &&
					sameKind(own, sites) {
					v.wider = append(v.wider, sites)
				}
			}
			v.add(c, own, nil)
			v.addPreflights(own)
			var forms model.Reduced
			if len(v.wider) > 0 {
				forms, _ = flow.Fetch(c, reduced, k)
			}
			for _, sites := range v.wider {
				v.add(c, sites, forms)
				v.addPreflights(sites)
			}
			return virtualHost{Table: h.Table, Part: v.part(k.Name)}, true
		})
}

// sameKind tells whether the routes of two domains are of one kind, as those of each are: HTTPRoutes and GRPCRoutes are
// never merged (GRPCRouteRule.matches).
func sameKind(a, b plan.Sites) bool {
	first, _ := a.At(0)
	second, _ := b.At(0)
	return first.Rule.Route.Kind() == second.Rule.Route.Kind()
}

// emptyVirtualHost answers 404 for a domain.
func emptyVirtualHost(domain string) *resource.Part {
	var v assembly
	return v.part(domain)
}

// assembly gathers a virtual host's routes.
type assembly struct {
	stages
	home  home
	wider []plan.Sites // none: no site can come twice

	own []placed // settings that stand in the virtual host

	routes    [][]byte
	fragments []resource.Fragment
	needs     []resource.Name
	listed    map[siteMatch]struct{}
	rules     map[model.RuleKey]served
	answered  map[siteMatch]struct{} // matches that have a route for their preflights
}

type siteMatch struct {
	Rule  model.RuleKey
	Match int
}

// add adds the routes of sites; those of some rules may be copies for which there is no room as they are.
func (v *assembly) add(c *flow.Ctx, sites plan.Sites, reduced model.Reduced) {
	if v.rules == nil {
		v.rules = make(map[model.RuleKey]served, sites.Len())
	}
	v.routes = slices.Grow(v.routes, sites.Len())
	for k := range sites.All() {
		if len(v.wider) > 0 {
			m := siteMatch{k.Rule, k.Match}
			if _, ok := v.listed[m]; ok {
				continue
			}
			if v.listed == nil {
				v.listed = make(map[siteMatch]struct{})
			}
			v.listed[m] = struct{}{}
		}
		if r := v.rule(c, k.Rule, sites, reduced); k.Match < len(r.Routes) && r.Routes[k.Match] != nil {
			v.routes = append(v.routes, r.Routes[k.Match])
		}
	}
}

// rule fetches a rule at its first site, and lists its fragment and what it needs.
func (v *assembly) rule(c *flow.Ctx, k model.RuleKey, sites plan.Sites, reduced model.Reduced) served {
	r, ok := v.rules[k]
	if ok {
		return r
	}
	if r, ok = v.serve(c, k, v.home); ok {
		if form := reduced[k]; form != model.FormWhole {
			r.Routes, r.Needs, r.Preflights = v.silence(c, v.home, v.reduce(c, k, form, sites)), nil, nil
		}
		v.fragments = append(v.fragments, r.Fragment)
		v.needs = append(v.needs, r.Needs...)
	}
	v.rules[k] = r
	return r
}

// reduce renders a rule in a form that is not whole: to a route for each match or, if its one match is another one, in
// the place of the last.
func (v *assembly) reduce(c *flow.Ctx, k model.RuleKey, form model.Form, sites plan.Sites) [][]byte {
	rule, _ := v.find(c, k)
	if form == model.FormMatches {
		return substitutes(rule)
	}
	routes := make([][]byte, len(rule.Matches))
	for _, in := range renderRule(statedRule{Rule: rule.In(form)}, v.home.Place).Routes { // one, or none
		for site := range sites.All() {
			if site.Rule == k {
				clear(routes)
				routes[site.Match] = in
			}
		}
	}
	return routes
}

// part lays the virtual host's own bytes, in one piece with the field's tag, before those of the routes, which are not
// copied.
func (v *assembly) part(domain string) *resource.Part {
	own := mustMarshal(&routev3.VirtualHost{Name: domain, Domains: hosts(domain)})
	pieces := append(encodeSettings(virtualHostSettings, settingsOf(v.own)), v.routes...)
	size := len(own)
	for _, b := range pieces {
		size += len(b)
	}
	head := protowire.AppendTag(nil, virtualHostsField, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(size))
	part := newPart(domain, append([][]byte{append(head, own...)}, pieces...)...)
	part.Fragments, part.Needs = v.fragments, v.needs
	addSettings(part, v.own)
	return part
}

func compareNames(a, b resource.Name) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

// hosts are the hosts of a domain as clients write them: a name may end in a dot. Envoy can strip that, but then the
// backend does not see Host as it was sent.
func hosts(domain string) []string {
	if domain == "*" {
		return []string{domain}
	}
	return []string{domain, domain + "."}
}
