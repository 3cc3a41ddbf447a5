package envoy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// routeStandings tells of each route at each Gateway, rule by rule, whether what it is now was acknowledged at every
// place. One route's acknowledgement runs that route only.
func (s stages) routeStandings() *flow.Collection[resource.RouteKey, resource.RouteStanding] {
	return flow.Derive(s.routes, "envoy/route-standings",
		func(c *flow.Ctx, ref model.ObjectRef, r model.Route, emit func(resource.RouteKey, resource.RouteStanding)) {
			for _, g := range r.Gateways {
				if ours(g.DataPlane) {
					emit(resource.RouteKey{Gateway: g.Ref, Route: ref}, s.routeStanding(c, g, r))
				}
			}
		})
}

func (s stages) routeStanding(
	c *flow.Ctx, gateway model.RouteGateway, r model.Route,
) (standing resource.RouteStanding) {
	judge := s.judge(c, gateway.DataPlane)
	fragments := make([]fragment, len(r.Rules))
	for i, rule := range r.Rules {
		fragments[i], _ = flow.Fetch(c, s.fragments, rule.Key)
		standing.Unsupported = append(standing.Unsupported, unsupported(rule.Key, fragments[i])...)
	}
	for _, place := range r.Places {
		if place.Gateway != gateway.Ref {
			continue
		}
		h, ok := flow.Fetch(c, s.homes, place.Listener)
		if !ok {
			continue
		}
		rules := slices.Repeat([]resource.Standing{{Acknowledged: true}}, len(r.Rules))
		standing.Places = append(standing.Places, resource.PlaceStanding{Listener: place.Listener, Rules: rules})
		for i, rule := range r.Rules {
			if len(rule.Matches) == 0 {
				continue // it is nowhere
			}
			judge.content(&rules[i], h.Table, fragments[i].at(rule.Key, h.Place))
			if rules[i].Refused == "" {
				rules[i].Refused = s.backends.of(c, gateway.Ref, rule)
			}
			if rules[i].Refused == "" {
				rules[i].Refused = s.refusedEntry(c, gateway.Ref, fragments[i].Entries)
			}
		}
	}
	return standing
}

// judge reads what the proxies of one data plane said.
type judge struct {
	ctx     *flow.Ctx
	acked   *flow.Collection[resource.AckKey, uint64]
	refused *flow.Collection[resource.RefusalKey, resource.Refusal]
}

func (s stages) judge(c *flow.Ctx, d model.DataPlane) judge {
	return judge{c, s.feedback.AckedBy(d), s.refused}
}

// content adds to a standing what they said of content in a resource.
func (j judge) content(standing *resource.Standing, in resource.Key, content resource.Fragment) {
	hash, ok := j.fetch(in, content)
	j.add(standing, in, content, ok && hash == content.Hash)
}

// secret adds what they said of a Secret that a listener needs. One that was acknowledged goes on serving while the
// next one is on its way: a rotation takes nothing back.
func (j judge) secret(
	standing *resource.Standing, sds *flow.Collection[resource.Key, resource.Resource], key resource.Key,
) {
	secret, _ := flow.Fetch(j.ctx, sds, key)
	for _, part := range secret.Parts {
		for _, content := range part.Fragments {
			_, ok := j.fetch(key, content)
			j.add(standing, key, content, ok)
		}
	}
}

func (j judge) fetch(in resource.Key, content resource.Fragment) (hash uint64, ok bool) {
	return flow.Fetch(j.ctx, j.acked,
		resource.AckKey{Resource: in, Origin: content.Origin, Variant: content.Variant})
}

func (j judge) add(standing *resource.Standing, in resource.Key, content resource.Fragment, acknowledged bool) {
	standing.Acknowledged = standing.Acknowledged && acknowledged
	if said, ok := flow.Fetch(j.ctx, j.refused, refusalKey(in.Gateway, content)); ok && standing.Refused == "" {
		standing.Acknowledged, standing.Refused, standing.Kind = false, said.Message, said.Kind
	}
}

// listenerStandings tells the same of each listener: its Listener resources (one for each address), and the Secrets and
// the route table that these need.
func (s stages) listenerStandings(
	p plan.Plan, lds, sds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.StandingKey, resource.Standing] {
	keyed := flow.Group(p.Listeners, "envoy/listeners-by-origin",
		func(k model.ListenerKey, l model.Listener) []resource.StandingKey {
			if !ours(l.DataPlane) {
				return nil
			}
			return []resource.StandingKey{{Gateway: l.Gateway, Origin: listenerOrigin(k)}}
		}, flow.ByKey)
	return flow.Map(keyed, "envoy/listener-standings",
		func(c *flow.Ctx, k resource.StandingKey, members flow.Members[model.ListenerKey, model.Listener]) (
			resource.Standing, bool,
		) {
			_, l := members.At(0)
			port, ok := flow.Fetch(c, p.Ports, l.Port)
			standing := resource.Standing{Acknowledged: ok}
			judge, shared := s.judge(c, l.DataPlane), resource.Origin{Object: l.Gateway}
			for _, in := range listenerKeys(port) {
				r, ok := flow.Fetch(c, lds, in)
				standing.Acknowledged = standing.Acknowledged && ok
				for _, part := range r.Parts {
					for _, content := range part.Fragments {
						if content.Origin == k.Origin || content.Origin == shared {
							judge.content(&standing, in, content)
						}
					}
				}
			}
			if servable(l.DataPlane, l.Protocol, l.Port.Transport) {
				// A proxy acknowledges a listener, and lets connections in when the table that it names is there.
				_, ok := flow.Fetch(c, judge.acked, resource.Arrived(listenerHome(l).Table))
				standing.Acknowledged = standing.Acknowledged && ok
			}
			for _, ref := range l.Certificates {
				judge.secret(&standing, sds, secretKey(l.Gateway, ref))
			}
			if stated := fetch(c, p.Settings.Chains, l.Key).ListenerFields; asksClients(l, stated) {
				judge.secret(&standing, sds, validationKey(l, stated))
			}
			return standing, true
		})
}

// policyStandings tells the same of each BackendTLSPolicy by which backends are spoken to: of the clusters of these.
func (s stages) policyStandings(
	p plan.Plan, cds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.StandingKey, resource.Standing] {
	byPolicy := flow.Group(p.Backends, "envoy/backends-by-policy",
		func(k plan.BackendKey, b model.Backend) []resource.StandingKey {
			if !ours(b.DataPlane) || b.TLS == nil || b.TLS.Policy == (model.ObjectRef{}) {
				return nil
			}
			return []resource.StandingKey{{Gateway: k.Gateway, Origin: resource.Origin{Object: b.TLS.Policy}}}
		}, flow.ByKey)
	return flow.Map(byPolicy, "envoy/policy-standings",
		func(c *flow.Ctx, _ resource.StandingKey, backends flow.Members[plan.BackendKey, model.Backend]) (
			resource.Standing, bool,
		) {
			standing := resource.Standing{Acknowledged: true}
			for k, b := range backends.All() {
				judge, in := s.judge(c, b.DataPlane), backendResource(resource.Cluster)(k)
				cluster, _ := flow.Fetch(c, cds, in)
				for _, part := range cluster.Parts {
					for _, content := range part.Fragments {
						judge.content(&standing, in, content)
					}
				}
			}
			return standing, true
		})
}

// settingStandings tells the same of what objects state for Gateways, listeners and backends.
func (s stages) settingStandings(
	p plan.Plan, cds, lds, sds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.StandingKey, resource.Standing] {
	listeners := flow.Group(p.Listeners, "envoy/listeners-by-gateway",
		func(_ model.ListenerKey, l model.Listener) []model.ObjectRef {
			if !servable(l.DataPlane, l.Protocol, l.Port.Transport) {
				return nil
			}
			return []model.ObjectRef{l.Gateway}
		}, flow.ByKey)
	var domains *flow.Collection[model.ListenerKey, flow.Members[model.DomainKey, plan.Sites]]
	if s.settings.Listeners != nil {
		domains = flow.Group(p.Domains, "envoy/domains-by-listener",
			func(k model.DomainKey, _ plan.Sites) []model.ListenerKey { return []model.ListenerKey{k.Listener} }, flow.ByKey)
	}
	levels := flow.Derive(listeners, "envoy/level-standings",
		func(c *flow.Ctx, gateway model.ObjectRef, all flow.Members[model.ListenerKey, model.Listener],
			emit func(resource.StandingKey, resource.Standing),
		) {
			found := map[model.ObjectRef]*resource.Standing{}
			var order []model.ObjectRef
			for k, l := range all.All() {
				h, _ := flow.Fetch(c, s.homes, k)
				own := s.atListener(c, k, h)
				if hosts := fetch(c, domains, k); hosts.Len() == 0 {
					own = nil // there is no virtual host
				}
				judge := s.judge(c, l.DataPlane)
				for _, setting := range append(slices.Clone(fetch(c, s.ofTables, h.Table)), own...) {
					if found[setting.From] == nil {
						found[setting.From] = &resource.Standing{Acknowledged: true}
						order = append(order, setting.From)
					}
					judge.content(found[setting.From], h.Table, setting.Fragment)
				}
			}
			for _, object := range order {
				emit(resource.StandingKey{Gateway: gateway, Origin: resource.Origin{Object: object}}, *found[object])
			}
		})
	if p.Settings.Backends == nil {
		return levels
	}
	itself := func(_ *flow.Ctx, _ resource.StandingKey, own resource.Standing) (resource.Standing, bool) {
		return own, true
	}
	return flow.Merge("envoy/setting-standings", flow.From(levels, itself),
		flow.From(s.statedStandings(p, cds, lds, sds), itself))
}
