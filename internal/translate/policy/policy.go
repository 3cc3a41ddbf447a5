package policy

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// atRule is where features of requests are stated.
const atRule = extend.AtRule

// Inputs is what policies depend on.
type Inputs struct {
	Sources *kinds.Sources
	Plan    plan.Plan // Gateways, Listeners, Routes and BackendUsers
	Lookups Lookups
	// Renderers render features, by data plane.
	Renderers map[model.DataPlane]plan.Renderer
	// Namespace is the program's own. Only policies of this namespace may target GatewayClasses; "": policies of any may.
	Namespace string
}

// Translator is what all policies come to.
type Translator struct {
	Store    *Store
	Settings plan.Settings
	// Levels and Routes are what explains the settings.
	Levels *flow.Collection[LevelKey, levelFeature]
	Routes *flow.Collection[model.ObjectRef, RoutePieces]
	// Backends has what is stated for backends.
	Backends *flow.Collection[plan.BackendKey, BackendPieces]
	// Ports has what is stated for the connections of listeners.
	Ports *flow.Collection[model.PortKey, PortPieces]
	// SettingsBackends are the backends that settings send requests to and no route does, with the data plane that does
	// so.
	SettingsBackends *flow.Collection[plan.BackendKey, model.DataPlane]
	// Fetches are the documents that policies depend on.
	Fetches *flow.Collection[model.FetchKey, model.FetchSpec]
	// Files are those of the proxies' machine that policies have written; nil: there can't be any.
	Files *flow.Collection[model.File, struct{}]
	// Materials are what policies read of objects as certificates and key sets; nil: there can't be any.
	Materials *flow.Collection[model.MaterialKey, plan.Material]

	inputs          Inputs
	placeReports    *flow.Collection[model.ObjectRef, flow.Members[settingsKey, placeReport]]
	notedNeeds      *flow.Collection[settingsKey, notedNeeds]
	portsByGateway  *flow.Collection[model.ObjectRef, flow.Members[model.PortKey, PortPieces]]
	levelsByGateway *flow.Collection[model.ObjectRef, levelMembers]
	// listenersByGateway are the listeners that can serve, those of ListenerSets included.
	listenersByGateway *flow.Collection[model.ObjectRef, gatewayListeners]
	renderers          map[model.DataPlane]plan.Renderer
	lookups            Lookups
}

// New makes what policies come to.
func New(store *Store, in Inputs) *Translator {
	m := &Translator{Store: store, inputs: in, renderers: in.Renderers, lookups: in.Lookups}
	if len(store.Kinds) == 0 {
		return m
	}
	m.listenersByGateway = newListeners(in.Plan.Listeners)
	m.Levels = m.newLevels(in)
	m.Routes = m.newRoutes(in)
	m.levelsByGateway = levelsBy(m.Levels, "policy/gateway-levels",
		func(k LevelKey) (model.ObjectRef, bool) { return k.Gateway, true })
	m.Settings.Gateways = flow.Map(m.levelsByGateway, "plan/gateway-settings", settingsAt[model.ObjectRef](true))
	m.Settings.Listeners = flow.Map(levelsBy(m.Levels, "policy/listener-levels",
		func(k LevelKey) (model.ListenerKey, bool) {
			return model.ListenerKey{Parent: k.Gateway, Section: k.Section}, k.Section != ""
		}), "plan/listener-settings", settingsAt[model.ListenerKey](false))
	m.Settings.Routes = flow.Map(m.Routes, "plan/route-settings",
		func(_ *flow.Ctx, _ model.ObjectRef, r RoutePieces) (plan.RouteSettings, bool) {
			return r.toSettings(), true
		})
	m.Ports = m.newPorts()
	m.portsByGateway = flow.Group(m.Ports, "policy/gateway-ports",
		func(k model.PortKey, _ PortPieces) []model.ObjectRef { return []model.ObjectRef{k.Gateway} }, flow.ByKey)
	m.portSettings(&m.Settings)
	needs := m.newNeeds(in.Plan.Routes)
	m.Settings.Shared, m.SettingsBackends = entriesOf(needs), m.newSettingsBackends(usersOf(needs))
	m.notedNeeds = notedOf(needs)
	m.Fetches, m.Materials, m.Files = m.newFetches(m.notedNeeds), materialsOf(m.notedNeeds), filesOf(m.notedNeeds)
	m.Backends = m.newBackends()
	m.Settings.Backends = flow.Map(m.Backends, "plan/backend-settings",
		func(_ *flow.Ctx, _ plan.BackendKey, b BackendPieces) (plan.BackendSettings, bool) {
			return b.toSettings()
		})
	m.placeReports = m.newPlaceReports()
	return m
}

// levelsBy groups what is rendered at levels.
func levelsBy[K comparable](
	levels *flow.Collection[LevelKey, levelFeature], name string, of func(LevelKey) (K, bool),
) *flow.Collection[K, flow.Members[LevelKey, levelFeature]] {
	return flow.Group(levels, name, func(k LevelKey, _ levelFeature) []K {
		if key, is := of(k); is && k.Feature != "" {
			return []K{key}
		}
		return nil
	}, func(k LevelKey, _ levelFeature) string { return k.Kind.String() + "/" + k.Feature })
}

type levelMembers = flow.Members[LevelKey, levelFeature]

// settingsAt are the settings of a level; gateway: those of the Gateway itself, without its listeners'.
func settingsAt[K comparable](gateway bool) func(*flow.Ctx, K, levelMembers) ([]plan.Setting, bool) {
	return func(_ *flow.Ctx, _ K, members levelMembers) (list []plan.Setting, some bool) {
		for k, l := range members.All() {
			if !gateway || k.Section == "" {
				list = append(list, l.Piece.Rendered.Settings...)
			}
		}
		return list, len(list) > 0
	}
}

// atRules are the kinds with features that are stated for requests.
func (s *Store) atRules() (list []Kind) {
	for _, k := range s.Kinds {
		if k.ForRules() {
			list = append(list, k)
		}
	}
	return list
}

// kindsWith are the kinds with features that are stated at levels.
func (s *Store) kindsWith(levels extend.Levels) (list []Kind) {
	for _, k := range s.Kinds {
		if k.hasLevels(levels) {
			list = append(list, k)
		}
	}
	return list
}
