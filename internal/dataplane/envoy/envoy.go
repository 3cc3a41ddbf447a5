package envoy

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// stages are the collections that several stages read.
type stages struct {
	settings  plan.Settings
	routes    *flow.Collection[model.ObjectRef, model.Route]
	users     *flow.Collection[resource.Key, tableUsers]
	fragments *flow.Collection[model.RuleKey, fragment]
	homes     *flow.Collection[model.ListenerKey, home]
	ofTables  *flow.Collection[resource.Key, []placed]             // nil: nothing is stated for tables
	silent    *flow.Collection[model.ListenerKey, model.Encoded]   // see silences
	cors      *flow.Collection[model.ListenerKey, model.ObjectRef] // see listenersWithCORS
	feedback  *resource.Feedback
	refused   *flow.Collection[resource.RefusalKey, resource.Refusal]
	backends  refusedBackends
	entries   *flow.Collection[plan.SharedKey, string] // that were refused; nil: there are none
}

// New adds the stages that render a plan to a graph:
//
//	Routes ----> fragments --+
//	Listeners -> homes ------+--> virtual hosts --> tables (RDS)
//	Sites ---> domains ------+
//	Backends ------------------> clusters (CDS), endpoints (EDS)
//	Secrets -------------------> secrets (SDS)
//	Ports, Listeners ----------> listeners (LDS)
//	Feedback ------------------> what is served, standings
func New(_ *flow.Graph, p plan.Plan, f *resource.Feedback) resource.Outputs {
	s := stages{
		settings: p.Settings,
		routes:   p.Routes,
		feedback: f,
		refused:  f.Refused.Collection(),
		users: flow.Group(p.Listeners, "envoy/table-users", func(_ model.ListenerKey, l model.Listener) []resource.Key {
			if !servable(l.DataPlane, l.Protocol, l.Port.Transport) {
				return nil
			}
			return []resource.Key{tableOf(l)}
		}, flow.ByKey),
	}
	// A listener has many domains and a home that hardly ever changes: they fetch this, not the listener.
	s.homes = flow.Map(p.Listeners, "envoy/homes", func(c *flow.Ctx, _ model.ListenerKey, l model.Listener) (home, bool) {
		h := listenerHome(l)
		if p.Settings.Listeners != nil { // nothing else depends on who shares a table
			users, _ := flow.Fetch(c, s.users, h.Table)
			h.Alone = users.Len() == 1
		}
		return h, servable(l.DataPlane, l.Protocol, l.Port.Transport)
	})
	s.entries = refusedEntries(p.Settings, s.refused)
	s.ofTables = s.tableSettings()
	s.silent = s.silences()
	s.cors = s.listenersWithCORS()
	s.fragments = s.newFragments(p)
	s.backends = newRefusedBackends(s.refused)
	cds, lds, sds := s.clusters(p), s.listeners(p), secrets(p)
	resources := []*flow.Collection[resource.Key, resource.Resource]{
		cds, endpoints(p), sds, lds, s.tables(p), s.extensions(p),
	}
	if p.Running != nil {
		resources = append(resources, members(p))
	}
	return resource.Outputs{
		Resources:       resources,
		Routes:          s.routeStandings(),
		Listeners:       s.listenerStandings(p, lds, sds),
		Settings:        s.settingStandings(p, cds, lds, sds),
		RefusedBackends: s.backends.refusals,
		Policies:        s.policyStandings(p, cds),
		RuleChanged:     func(v flow.View, k model.RuleKey) flow.Rev { return flow.ChangedAt(v, s.fragments, k) },
		Protocol:        Protocol(),
	}
}
