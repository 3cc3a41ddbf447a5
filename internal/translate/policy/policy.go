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
	Plan    plan.Plan // Gateways, Listeners, Routes and Users
	Lookups Lookups
	// Renderers render features, by data plane.
	Renderers map[model.DataPlane]plan.Renderer
	// Namespace is the program's own. Only policies of this namespace may target GatewayClasses; "": policies of any may.
	Namespace string
}

// Meaning is what all policies come to.
type Meaning struct {
	Store    *Store
	Settings plan.Settings
	// Levels and Routes are what explains the settings.
	Levels *flow.Collection[LevelKey, level]
	Routes *flow.Collection[model.ObjectRef, Route]
	// Backends has what is stated for backends.
	Backends *flow.Collection[plan.BackendKey, Backend]
	// Ports has what is stated for the connections of listeners.
	Ports *flow.Collection[model.PortKey, Port]
	// Others are the backends that settings send requests to and no route does, with the data plane that does so.
	Others *flow.Collection[plan.BackendKey, model.DataPlane]
	// Fetches are the documents that policies depend on.
	Fetches *flow.Collection[model.FetchKey, model.Fetch]
	// Files are those of the proxies' machine that policies have written; nil: there can't be any.
	Files *flow.Collection[model.File, struct{}]
	// Materials are what policies read of objects as certificates and key sets; nil: there can't be any.
	Materials *flow.Collection[model.MaterialKey, plan.Material]

	in        Inputs
	told      *flow.Collection[model.ObjectRef, flow.Members[place, told]]
	noted     *flow.Collection[place, noted]
	portsBy   *flow.Collection[model.ObjectRef, flow.Members[model.PortKey, Port]]
	byGateway *flow.Collection[model.ObjectRef, levelMembers]
	renderers map[model.DataPlane]plan.Renderer
	lookups   Lookups
}

// New makes what policies come to.
func New(store *Store, in Inputs) *Meaning {
	m := &Meaning{Store: store, in: in, renderers: in.Renderers, lookups: in.Lookups}
	if len(store.Kinds) == 0 {
		return m
	}
	m.Levels = m.levels(in)
	m.Routes = m.routes(in)
	m.byGateway = levelsBy(m.Levels, "policy/gateway-levels",
		func(k LevelKey) (model.ObjectRef, bool) { return k.Gateway, true })
	m.Settings.Gateways = flow.Map(m.byGateway, "plan/gateway-settings", settingsAt[model.ObjectRef](true))
	m.Settings.Listeners = flow.Map(levelsBy(m.Levels, "policy/listener-levels",
		func(k LevelKey) (model.ListenerKey, bool) {
			return model.ListenerKey{Parent: k.Gateway, Section: k.Section}, k.Section != ""
		}), "plan/listener-settings", settingsAt[model.ListenerKey](false))
	m.Settings.Routes = flow.Map(m.Routes, "plan/route-settings",
		func(_ *flow.Ctx, _ model.ObjectRef, r Route) (plan.RouteSettings, bool) { return r.settings(), true })
	m.Ports = m.ports()
	m.portsBy = flow.Group(m.Ports, "policy/gateway-ports",
		func(k model.PortKey, _ Port) []model.ObjectRef { return []model.ObjectRef{k.Gateway} }, flow.ByKey)
	m.portSettings(&m.Settings)
	needs := m.needs(in.Plan.Routes)
	m.Settings.Shared, m.Others = entriesOf(needs), m.others(usersOf(needs))
	m.noted = notedOf(needs)
	m.Fetches, m.Materials, m.Files = m.fetches(m.noted), materialsOf(m.noted), filesOf(m.noted)
	m.Backends = m.backends()
	m.Settings.Backends = flow.Map(m.Backends, "plan/backend-settings",
		func(_ *flow.Ctx, _ plan.BackendKey, b Backend) (plan.BackendSettings, bool) { return b.settings() })
	m.told = m.tellings()
	return m
}

// levelsBy groups what is rendered at levels.
func levelsBy[K comparable](
	levels *flow.Collection[LevelKey, level], name string, of func(LevelKey) (K, bool),
) *flow.Collection[K, flow.Members[LevelKey, level]] {
	return flow.Group(levels, name, func(k LevelKey, _ level) []K {
		if key, is := of(k); is && k.Feature != "" {
			return []K{key}
		}
		return nil
	}, func(k LevelKey, _ level) string { return k.Kind.String() + "/" + k.Feature })
}

type levelMembers = flow.Members[LevelKey, level]

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

// having are the kinds with features that are stated at levels.
func (s *Store) having(levels extend.Levels) (list []Kind) {
	for _, k := range s.Kinds {
		if k.has(levels) {
			list = append(list, k)
		}
	}
	return list
}
