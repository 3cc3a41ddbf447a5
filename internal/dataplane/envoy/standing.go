package envoy

import (
	"cmp"
	"slices"
	"strconv"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// routeAckStates tells of each route at each Gateway, rule by rule, whether what it is now was acknowledged at every
// place. One route's acknowledgement runs that route only.
func (s stages) routeAckStates() *flow.Collection[resource.RouteKey, resource.RouteAckState] {
	return flow.Derive(s.routes, "envoy/route-standings",
		func(c *flow.Ctx, ref model.ObjectRef, r model.Route, emit func(resource.RouteKey, resource.RouteAckState)) {
			for _, g := range r.Gateways {
				if naming.IsEnvoy(g.DataPlane) {
					emit(resource.RouteKey{Gateway: g.Ref, Route: ref}, s.routeAckState(c, g, r))
				}
			}
		})
}

func (s stages) routeAckState(
	c *flow.Ctx, gateway model.RouteGateway, r model.Route,
) (standing resource.RouteAckState) {
	judge := s.newAckReader(c, gateway.DataPlane)
	fragments := make([]renderedRule, len(r.Rules))
	for i, rule := range r.Rules {
		fragments[i], _ = flow.Fetch(c, s.renderedRules, rule.Key)
		standing.Unsupported = append(standing.Unsupported, unsupportedFindings(rule.Key, fragments[i])...)
	}
	for _, place := range r.Listeners {
		if place.Gateway != gateway.Ref {
			continue
		}
		if l, found := flow.Fetch(c, s.connectionListeners, place.Listener); found {
			standing.Listeners = append(standing.Listeners, s.connectionAckState(c, judge, l, place, r))
			continue
		}
		h, ok := flow.Fetch(c, s.placements, place.Listener)
		if !ok {
			continue
		}
		rules := slices.Repeat([]resource.AckState{{Acknowledged: true}}, len(r.Rules))
		standing.Listeners = append(standing.Listeners, resource.ListenerAckState{Listener: place.Listener, Rules: rules})
		for i, rule := range r.Rules {
			if len(rule.Matches) == 0 {
				continue // it is nowhere
			}
			judge.addContent(&rules[i], h.Table, fragments[i].fragmentAt(rule.Key, h.Context))
			if rules[i].Refused == "" {
				rules[i].Refused = s.backends.refusalOf(c, gateway.Ref, rule)
			}
			if rules[i].Refused == "" {
				rules[i].Refused = s.entryRefusal(c, gateway.Ref, fragments[i].Entries)
			}
		}
	}
	return standing
}

// connectionAckState tells the same of a place with connections. A rule that gets none there has nothing to wait for.
func (s stages) connectionAckState(
	c *flow.Ctx, judge ackReader, l connectionListener, place model.RouteListener, r model.Route,
) resource.ListenerAckState {
	state := resource.ListenerAckState{Listener: place.Listener}
	for _, rule := range r.Rules {
		own := resource.AckState{Acknowledged: true}
		for _, d := range place.Domains {
			k := model.DomainKey{Listener: place.Listener, Name: d.Name}
			if in, content, some := s.connectionContent(c, l, k, rule.Key); some {
				judge.addContent(&own, in, content)
			}
		}
		if own.Refused == "" {
			own.Refused = s.backends.refusalOf(c, l.Gateway, rule)
		}
		state.Rules = append(state.Rules, own)
	}
	return state
}

// ackReader reads what the proxies of one data plane said.
type ackReader struct {
	ctx     *flow.Ctx
	acked   *flow.Collection[resource.AckKey, uint64]
	refused *flow.Collection[resource.RefusalKey, resource.Refusal]
}

func (s stages) newAckReader(c *flow.Ctx, d model.DataPlane) ackReader {
	return ackReader{c, s.feedback.AckedBy(d), s.refused}
}

// addContent adds to a standing what they said of content in a resource.
func (j ackReader) addContent(standing *resource.AckState, in resource.Key, content resource.Fragment) {
	hash, ok := j.fetchAcked(in, content)
	j.addState(standing, in, content, ok && hash == content.Hash)
}

// addSecret adds what they said of a Secret that a listener needs. One that was acknowledged goes on serving while the
// next one is on its way: a rotation takes nothing back.
func (j ackReader) addSecret(
	standing *resource.AckState, sds *flow.Collection[resource.Key, resource.Resource], key resource.Key,
) {
	secret, _ := flow.Fetch(j.ctx, sds, key)
	for _, part := range secret.Parts {
		for _, content := range part.Fragments {
			_, ok := j.fetchAcked(key, content)
			j.addState(standing, key, content, ok)
		}
	}
}

func (j ackReader) fetchAcked(in resource.Key, content resource.Fragment) (hash uint64, ok bool) {
	return flow.Fetch(j.ctx, j.acked,
		resource.AckKey{Resource: in, Origin: content.Origin, Variant: content.Variant})
}

func (j ackReader) addState(
	standing *resource.AckState, in resource.Key, content resource.Fragment, acknowledged bool,
) {
	standing.Acknowledged = standing.Acknowledged && acknowledged
	if said, ok := flow.Fetch(j.ctx, j.refused, refusalKeyOf(in.Gateway, content)); ok && standing.Refused == "" {
		standing.Acknowledged, standing.Refused, standing.Kind = false, said.Message, said.Kind
	}
}

// listenerAckStates tells the same of each listener: its Listener resources (one for each address), and the Secrets and
// the route table that these need.
func (s stages) listenerAckStates(
	p plan.Plan, lds, sds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.AckStateKey, resource.AckState] {
	keyed := flow.Group(p.Listeners, "envoy/listeners-by-origin",
		func(k model.ListenerKey, l model.Listener) []resource.AckStateKey {
			if !naming.IsEnvoy(l.DataPlane) {
				return nil
			}
			return []resource.AckStateKey{{Gateway: l.Gateway, Origin: naming.ListenerOrigin(k)}}
		}, flow.ByKey)
	return flow.Map(keyed, "envoy/listener-standings",
		func(c *flow.Ctx, k resource.AckStateKey, members flow.Members[model.ListenerKey, model.Listener]) (
			resource.AckState, bool,
		) {
			_, l := members.At(0)
			port, ok := flow.Fetch(c, p.Ports, l.Port)
			standing := resource.AckState{Acknowledged: ok}
			judge, shared := s.newAckReader(c, l.DataPlane), resource.Origin{Object: l.Gateway}
			for _, in := range listenerKeys(port) {
				r, ok := flow.Fetch(c, lds, in)
				standing.Acknowledged = standing.Acknowledged && ok
				for _, part := range r.Parts {
					for _, content := range part.Fragments {
						if content.Origin == k.Origin || content.Origin == shared {
							judge.addContent(&standing, in, content)
						}
					}
				}
			}
			if naming.HasTable(l) {
				// A proxy acknowledges a listener, and lets connections in when the table that it names is there.
				_, ok := flow.Fetch(c, judge.acked, resource.TableAckKey(placeListener(l).Table))
				standing.Acknowledged = standing.Acknowledged && ok
			}
			for _, ref := range l.Certificates {
				judge.addSecret(&standing, sds, secretKey(l.Gateway, ref))
			}
			if stated := decodeListener(fetchOptional(c, p.Settings.FilterChains, l.Key)); asksClientCertificates(l, stated) {
				judge.addSecret(&standing, sds, validationKey(l, stated))
			}
			return standing, true
		})
}

// policyAckStates tells the same of each BackendTLSPolicy by which backends are spoken to: of the clusters of these.
func (s stages) policyAckStates(
	p plan.Plan, cds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.AckStateKey, resource.AckState] {
	byPolicy := flow.Group(p.Backends, "envoy/backends-by-policy",
		func(k plan.BackendKey, b model.Backend) []resource.AckStateKey {
			if !naming.IsEnvoy(b.DataPlane) || b.TLS == nil || b.TLS.Policy == (model.ObjectRef{}) {
				return nil
			}
			return []resource.AckStateKey{{Gateway: k.Gateway, Origin: resource.Origin{Object: b.TLS.Policy}}}
		}, flow.ByKey)
	return flow.Map(byPolicy, "envoy/policy-standings",
		func(c *flow.Ctx, _ resource.AckStateKey, backends flow.Members[plan.BackendKey, model.Backend]) (
			resource.AckState, bool,
		) {
			standing := resource.AckState{Acknowledged: true}
			for k, b := range backends.All() {
				judge, in := s.newAckReader(c, b.DataPlane), naming.BackendResource(xdstypes.Cluster)(k)
				cluster, _ := flow.Fetch(c, cds, in)
				for _, part := range cluster.Parts {
					for _, content := range part.Fragments {
						judge.addContent(&standing, in, content)
					}
				}
			}
			return standing, true
		})
}

// settingAckStates tells the same of what objects state for Gateways, listeners and backends.
func (s stages) settingAckStates(
	p plan.Plan, cds, lds, sds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.AckStateKey, resource.AckState] {
	listeners := flow.Group(p.Listeners, "envoy/listeners-by-gateway",
		func(_ model.ListenerKey, l model.Listener) []model.ObjectRef {
			if !naming.HasTable(l) {
				return nil
			}
			return []model.ObjectRef{l.Gateway}
		}, flow.ByKey)
	var domains *flow.Collection[model.ListenerKey, flow.Members[model.DomainKey, plan.RouteEntries]]
	if s.settings.Listeners != nil {
		domains = flow.Group(p.Domains, "envoy/domains-by-listener",
			func(k model.DomainKey, _ plan.RouteEntries) []model.ListenerKey {
				return []model.ListenerKey{k.Listener}
			}, flow.ByKey)
	}
	levels := flow.Derive(listeners, "envoy/level-standings",
		func(c *flow.Ctx, gateway model.ObjectRef, all flow.Members[model.ListenerKey, model.Listener],
			emit func(resource.AckStateKey, resource.AckState),
		) {
			found := map[model.ObjectRef]*resource.AckState{}
			var order []model.ObjectRef
			for k, l := range all.All() {
				h, _ := flow.Fetch(c, s.placements, k)
				own := s.settingsAtListener(c, k, h)
				if hosts := fetchOptional(c, domains, k); hosts.Len() == 0 {
					own = nil // there is no virtual host
				}
				judge := s.newAckReader(c, l.DataPlane)
				for _, setting := range append(slices.Clone(fetchOptional(c, s.settingsByTable, h.Table)), own...) {
					if found[setting.From] == nil {
						found[setting.From] = &resource.AckState{Acknowledged: true}
						order = append(order, setting.From)
					}
					judge.addContent(found[setting.From], h.Table, setting.Fragment)
				}
			}
			for _, object := range order {
				emit(resource.AckStateKey{Gateway: gateway, Origin: resource.Origin{Object: object}}, *found[object])
			}
		})
	if p.Settings.Backends == nil {
		return levels
	}
	// A policy for requests also closes connections, where these are decided.
	in := func(pending bool) func(resource.AckStateKey) partStanding {
		return func(k resource.AckStateKey) partStanding { return partStanding{k, pending} }
	}
	itself := func(_ *flow.Ctx, _ resource.AckStateKey, own resource.AckState) (resource.AckState, bool) {
		return own, true
	}
	parts := flow.Merge("envoy/setting-parts", flow.FromRenamed(levels, in(false), itself),
		flow.FromRenamed(s.pendingAckStates(p, cds, lds, sds), in(true), itself))
	byObject := flow.Group(parts, "envoy/setting-parts-by-object",
		func(k partStanding, _ resource.AckState) []resource.AckStateKey {
			return []resource.AckStateKey{k.AckStateKey}
		},
		func(k partStanding, _ resource.AckState) string { return strconv.FormatBool(k.Pending) })
	return flow.Map(byObject, "envoy/setting-standings",
		func(_ *flow.Ctx, _ resource.AckStateKey, parts flow.Members[partStanding, resource.AckState]) (
			all resource.AckState, some bool,
		) {
			all.Acknowledged = true
			for _, one := range parts.All() {
				all.Acknowledged = all.Acknowledged && one.Acknowledged
				all.Refused = cmp.Or(all.Refused, one.Refused)
			}
			return all, true
		})
}

// partStanding names the standing of what an object states in tables, or apart from these.
type partStanding struct {
	resource.AckStateKey
	Pending bool
}

// unsupportedFindings tells what of a rule could not be rendered as it is written.
func unsupportedFindings(k model.RuleKey, f renderedRule) []model.Finding {
	var findings []model.Finding
	_, answer := k.Route.Kind().FailureStatus()
	for _, problem := range f.Problems {
		findings = append(findings, model.Finding{
			Object: k.Route, Section: k.Name, Severity: model.Error, Condition: "Accepted", Reason: "UnsupportedValue",
			Drops:   true,
			Message: "Envoy can't serve this rule, its requests get " + answer + ": " + problem,
		})
	}
	return findings
}
