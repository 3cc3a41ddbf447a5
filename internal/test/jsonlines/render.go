package jsonlines

import (
	"encoding/json"
	"hash/fnv"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

type (
	// listenerLine is a listener.
	listenerLine struct {
		Listener string `json:"listener"`
		Port     int32  `json:"port"`
		Closed   bool   `json:"closed,omitempty"` // policies ask for something that can't be served
	}
	// routeLine is what becomes of the requests that a match of a rule takes.
	routeLine struct {
		Host     string                     `json:"host"`
		Path     string                     `json:"path,omitempty"`
		Rule     string                     `json:"rule"`
		Backends []string                   `json:"backends,omitempty"`
		Settings map[string]json.RawMessage `json:"settings,omitempty"`
	}
	// backendLine is a backend.
	backendLine struct {
		Backend   string   `json:"backend"`
		Endpoints []string `json:"endpoints,omitempty"`
		Closed    bool     `json:"closed,omitempty"`
	}
)

// render adds the stages that render a plan to a graph.
func render(_ *flow.Graph, p plan.Plan, _ *resource.Feedback) (out resource.Outputs) {
	out.Resources = []*flow.Collection[resource.Key, resource.Resource]{
		Backends: renderBackends(p), Listeners: renderListeners(p), Routes: renderRoutes(p),
	}
	// Nobody answers, so nothing is acknowledged or refused.
	out.Routes = nothing[resource.RouteKey, resource.RouteAckState](p, "routes")
	out.Listeners = nothing[resource.AckStateKey, resource.AckState](p, "listener-standings")
	out.Settings = nothing[resource.AckStateKey, resource.AckState](p, "settings")
	out.Policies = nothing[resource.AckStateKey, resource.AckState](p, "policies")
	out.RefusedBackends = nothing[resource.AckStateKey, resource.Refusal](p, "refused-backends")
	out.RuleChanged = func(flow.View, model.RuleKey) flow.Rev { return 0 }
	return out
}

// nothing is a collection without entries.
func nothing[K comparable, V any](p plan.Plan, name string) *flow.Collection[K, V] {
	return flow.Rename(p.Gateways, "jsonlines/no-"+name, func(model.ObjectRef) (k K) { return k },
		func(*flow.Ctx, model.ObjectRef, model.Gateway) (v V, has bool) { return v, false })
}

func renderBackends(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(p.Backends, "jsonlines/backends",
		func(k plan.BackendKey) resource.Key {
			return resource.Key{Gateway: k.Gateway, Type: Backends, Name: k.Backend.Describe()}
		},
		func(c *flow.Ctx, k plan.BackendKey, b model.Backend) (r resource.Resource, ours bool) {
			if b.DataPlane != DataPlane {
				return r, false
			}
			line := backendLine{Backend: k.Backend.Describe(), Closed: fetch(c, p.Settings.Backends, k).Closed}
			for _, e := range b.Endpoints {
				line.Endpoints = append(line.Endpoints, net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))))
			}
			return resource.JoinParts(newPart("", line)), true
		})
}

func renderListeners(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	ours := flow.Map(p.Listeners, "jsonlines/listener-lines",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (r resource.Resource, ours bool) {
			line := listenerLine{
				Listener: k.Section, Port: l.Port.Number, Closed: fetch(c, p.Settings.Ports, l.Port).Closed,
			}
			part := newPart("", line)
			part.Needs = []resource.Name{{Type: Routes, Name: k.Section}}
			return resource.JoinParts(part), l.DataPlane == DataPlane
		})
	return byGateway(p, ours, Listeners, "jsonlines/listeners")
}

func renderRoutes(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	domains := flow.Group(p.Domains, "jsonlines/domains",
		func(k model.DomainKey, _ plan.RouteEntries) []model.ListenerKey {
			return []model.ListenerKey{k.Listener}
		},
		func(k model.DomainKey, _ plan.RouteEntries) string { return k.Name })
	tables := flow.Map(domains, "jsonlines/tables",
		func(c *flow.Ctx, k model.ListenerKey, domains flow.Members[model.DomainKey, plan.RouteEntries]) (
			r resource.Resource, ours bool,
		) {
			l, found := flow.Fetch(c, p.Listeners, k)
			if !found || l.DataPlane != DataPlane {
				return r, false
			}
			broad := [][]plan.Setting{fetch(c, p.Settings.Gateways, l.Gateway), fetch(c, p.Settings.Listeners, k)}
			var parts []*resource.Part
			for domain, entries := range domains.All() {
				var lines []any
				for at, entry := range entries.All() {
					lines = append(lines, routeLineOf(c, p, at, entry, broad))
				}
				parts = append(parts, newPart(domain.Name, lines...))
			}
			return resource.JoinParts(parts...), true
		})
	return byGateway(p, tables, Routes, "jsonlines/routes")
}

// byGateway names what listeners have as resources of their Gateways.
func byGateway(
	p plan.Plan, of *flow.Collection[model.ListenerKey, resource.Resource], t resource.Type, name string,
) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(of, name,
		func(k model.ListenerKey) resource.Key {
			return resource.Key{Gateway: k.Parent, Type: t, Name: k.Section}
		},
		func(_ *flow.Ctx, _ model.ListenerKey, r resource.Resource) (resource.Resource, bool) { return r, true })
}

func routeLineOf(
	c *flow.Ctx, p plan.Plan, at model.RouteEntryKey, entry model.RouteEntry, broad [][]plan.Setting,
) routeLine {
	line := routeLine{
		Host: at.Domain, Path: entry.Match.Path.Value, Rule: at.Rule.Route.String() + " " + at.Rule.Name,
	}
	route, _ := flow.Fetch(c, p.Routes, at.Rule.Route)
	for _, rule := range route.Rules {
		if rule.Key == at.Rule {
			for _, b := range rule.Backends {
				line.Backends = append(line.Backends, b.Backend.Describe())
			}
		}
	}
	stated := fetch(c, p.Settings.Routes, at.Rule.Route)
	levels := append(slices.Clone(broad), stated.Own)
	for _, own := range stated.Rules {
		if own.Rule == at.Rule {
			levels = append(levels, own.Own)
		}
	}
	line.Settings = joinSettings(levels...)
	return line
}

// fetch is flow.Fetch of a collection that may be nil: nobody states anything there.
func fetch[K comparable, V any](c *flow.Ctx, from *flow.Collection[K, V], k K) (v V) {
	if from != nil {
		v, _ = flow.Fetch(c, from, k)
	}
	return v
}

// newPart is a part of a resource: lines.
func newPart(id string, lines ...any) *resource.Part {
	var text []byte
	for _, line := range lines {
		text = append(append(text, encode(line)...), '\n')
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // it never fails
	return &resource.Part{ID: id, Hash: h.Sum64(), Bytes: model.Rope{text}, Size: len(text)}
}
