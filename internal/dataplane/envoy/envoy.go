package envoy

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// stages are the collections that several stages read.
type stages struct {
	settings        plan.Settings
	routes          *flow.Collection[model.ObjectRef, model.Route]
	users           *flow.Collection[resource.Key, tableUsers]
	renderedRules   *flow.Collection[model.RuleKey, renderedRule]
	placements      *flow.Collection[model.ListenerKey, tablePlacement]
	settingsByTable *flow.Collection[resource.Key, []placedSetting]      // nil: nothing is stated for tables
	disabledFields  *flow.Collection[model.ListenerKey, model.Encoded]   // see silences
	cors            *flow.Collection[model.ListenerKey, model.ObjectRef] // see listenersWithCORS
	feedback        *resource.Feedback
	refused         *flow.Collection[resource.RefusalKey, resource.Refusal]
	backends        refusedBackends
	refusedEntries  *flow.Collection[plan.SharedKey, string] // that were refused; nil: there are none

	connectionListeners *flow.Collection[model.ListenerKey, connectionListener]
	// domains that routes serve, at listeners with connections in streams
	connectionDomains *flow.Collection[model.ListenerKey, flow.Members[model.DomainKey, struct{}]]
	connectionFilters *flow.Collection[model.DomainKey, connectionFilter]
	datagramEndpoints *flow.Collection[resource.Key, resource.Resource]
}

// New adds the stages that render a plan to a graph:
//
//	Routes ----> fragments --+
//	Listeners -> homes ------+--> virtual hosts --> tables (RDS)
//	Entries -> domains ------+
//	Backends ------------------> clusters (CDS), endpoints (EDS)
//	Secrets -------------------> secrets (SDS)
//	Ports, Listeners ----------> listeners (LDS)
//	Entries -> domains --------> what shares connections among backends (ECDS), or datagrams (CDS, EDS)
//	Feedback ------------------> what is served, standings
func New(_ *flow.Graph, p plan.Plan, f *resource.Feedback) resource.Outputs {
	s := stages{
		settings: p.Settings,
		routes:   p.Routes,
		feedback: f,
		refused:  f.Refused.Collection(),
		users: flow.Group(p.Listeners, "envoy/table-users", func(_ model.ListenerKey, l model.Listener) []resource.Key {
			if !naming.HasTable(l) {
				return nil
			}
			return []resource.Key{naming.TableKey(l)}
		}, flow.ByKey),
	}
	// A listener has many domains and a home that hardly ever changes: they fetch this, not the listener.
	s.placements = flow.Map(p.Listeners, "envoy/homes", func(c *flow.Ctx, _ model.ListenerKey,
		l model.Listener) (tablePlacement, bool) {
		h := placeListener(l)
		if p.Settings.Listeners != nil { // nothing else depends on who shares a table
			users, _ := flow.Fetch(c, s.users, h.Table)
			h.SoleUser = users.Len() == 1
		}
		return h, naming.HasTable(l)
	})
	s.refusedEntries = refusedEntries(p.Settings, s.refused)
	s.settingsByTable = s.collectTableSettings()
	s.disabledFields = s.collectDisabled()
	s.cors = s.listenersWithCORS()
	s.renderedRules = s.renderRules(p)
	s.backends = newRefusedBackends(s.refused)
	s.connectionListeners = connectionListeners(p)
	connections, connectionRules := s.newConnections(p), connectionRules(p)
	datagramClusters := s.newDatagrams(p)
	cds, lds, sds := s.clusterResources(p), s.listenerResources(p), secretResources(p)
	resources := []*flow.Collection[resource.Key, resource.Resource]{
		xdstypes.Secret: sds, xdstypes.Cluster: cds, xdstypes.Endpoints: endpointResources(p), xdstypes.Listener: lds,
		xdstypes.Extension: s.extensionResources(p), xdstypes.Routes: s.tableResources(p),
		connections, datagramClusters, s.datagramEndpoints,
	}
	if p.ProxyCounts != nil {
		resources = append(resources, localClusterEndpoints(p))
	}
	return resource.Outputs{
		Resources:       resources,
		Routes:          s.routeAckStates(),
		Listeners:       s.listenerAckStates(p, lds, sds),
		Settings:        s.settingAckStates(p, cds, lds, sds),
		RefusedBackends: s.backends.refusals,
		Policies:        s.policyAckStates(p, cds),
		RuleChanged: func(v flow.View, k model.RuleKey) flow.Rev {
			return max(flow.ChangedAt(v, s.renderedRules, k), flow.ChangedAt(v, connectionRules, k))
		},
	}
}

// localClusterEndpoints has the members of the local cluster of each Gateway that has several proxies: as many as there
// are. Their addresses are of no use, and differ.
func localClusterEndpoints(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(p.ProxyCounts, "envoy/members", func(gateway model.ObjectRef) resource.Key {
		return resource.Key{Gateway: gateway, Type: xdstypes.Endpoints, Name: bootstrap.LocalCluster}
	}, func(c *flow.Ctx, gateway model.ObjectRef, proxies int32) (resource.Resource, bool) {
		if g, found := flow.Fetch(c, p.Gateways, gateway); !found || !naming.IsEnvoy(g.DataPlane) {
			return resource.Resource{}, false
		}
		var list []model.Endpoint
		for i := range proxies {
			list = append(list, model.Endpoint{Address: "127.0.0.1", Port: i + 1})
		}
		return resource.JoinParts(message.NewPart("",
			message.MustMarshal(message.LoadAssignment(bootstrap.LocalCluster, list)))), true
	})
}
