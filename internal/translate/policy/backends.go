package policy

import (
	"net/http"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/resolve"
)

// BackendPieces is what policies come to at a backend, as a Gateway's proxies have it.
type BackendPieces struct {
	Pieces []RulePiece
	Port   string // the name of the Service's port, if a policy names one; ""
}

// backendLevel is what a Gateway and its class state for all backends. There is none where they state nothing.
type backendLevel struct{ Stated []broadStatements }

// broadStatements are those of a feature.
type broadStatements struct {
	Kind    model.Kind
	Feature string
	Levels  []statements
}

// statementsFor are those of one feature.
func (l backendLevel) statementsFor(kind model.Kind, feature string) []statements {
	for _, s := range l.Stated {
		if s.Kind == kind && s.Feature == feature {
			return slices.Clone(s.Levels)
		}
	}
	return nil
}

// newSettingsBackends are the backends that only settings send requests to.
func (m *Translator) newSettingsBackends(
	users *flow.Collection[plan.BackendKey, BackendUsers],
) *flow.Collection[plan.BackendKey, model.DataPlane] {
	return flow.Map(users, "policy/other-backends",
		func(c *flow.Ctx, k plan.BackendKey, _ BackendUsers) (model.DataPlane, bool) {
			_, used := flow.Fetch(c, m.inputs.Plan.RoutesByBackend, k)
			g, found := flow.Fetch(c, m.inputs.Plan.Gateways, k.Gateway)
			return g.DataPlane, found && !used
		})
}

// newBackends has the backends for which something is stated, and those that a policy targets.
func (m *Translator) newBackends() *flow.Collection[plan.BackendKey, BackendPieces] {
	q := backendScope{m, m.Store.kindsWith(extend.AtBackend), m.backendLevels()}
	return flow.Merge("policy/backends",
		flow.From(m.inputs.Plan.RoutesByBackend, func(c *flow.Ctx, k plan.BackendKey, _ flow.Members[model.ObjectRef,
			model.Route]) (
			BackendPieces, bool,
		) {
			return q.piecesOf(c, k)
		}),
		flow.From(m.SettingsBackends, func(c *flow.Ctx, k plan.BackendKey, _ model.DataPlane) (BackendPieces,
			bool) {
			return q.piecesOf(c, k)
		}))
}

func (m *Translator) backendLevels() *flow.Collection[model.ObjectRef, backendLevel] {
	kinds := m.Store.kindsWith(extend.AtBackend)
	return flow.Map(m.inputs.Plan.Gateways, "policy/backend-levels",
		func(c *flow.Ctx, ref model.ObjectRef, g model.Gateway) (l backendLevel, some bool) {
			for _, kind := range kinds {
				class, own := m.Store.policiesOn(c, g.Class, kind.Kind), m.Store.policiesOn(c, ref, kind.Kind)
				for _, f := range kind.Features {
					if !f.Levels.Has(extend.AtBackend) {
						continue
					}
					stated := []statements{statementsAt(class, "", LevelClass, f.Name), statementsAt(own, "", LevelGateway, f.Name)}
					if !noStatements(stated) {
						l.Stated = append(l.Stated, broadStatements{kind.Kind, f.Name, stated})
					}
				}
			}
			return l, len(l.Stated) > 0
		})
}

// backendScope looks at backends.
type backendScope struct {
	m           *Translator
	policyKinds []Kind
	broad       *flow.Collection[model.ObjectRef, backendLevel]
}

// piecesOf is what is stated for a backend. One for which nothing is has two fetches that find nothing.
func (q backendScope) piecesOf(c *flow.Ctx, k plan.BackendKey) (out BackendPieces, some bool) {
	if k.Backend.Picker {
		return out, false // no requests of clients go there
	}
	broad, stated := flow.Fetch(c, q.broad, k.Gateway)
	_, targeted := flow.Fetch(c, q.m.Store.byTarget, k.Backend.Object)
	if !stated && !targeted {
		return out, false
	}
	g, found := flow.Fetch(c, q.m.inputs.Plan.Gateways, k.Gateway)
	if !found {
		return out, false
	}
	if targeted {
		out.Port = q.m.portName(c, k.Backend)
	}
	place, decided := q.placeOfBackend(c, k)
	for _, kind := range q.policyKinds {
		scope := q.m.newScope(c, kind, g.DataPlane)
		scope.renderFunc = func(r plan.Renderer, v extend.Value, _ model.ObjectRef) (plan.Rendered, bool) {
			return r.RenderBackend(v, k.Backend)
		}
		scope.renderDenied = func(int, string, model.ObjectRef) (int, plan.Rendered) {
			return http.StatusServiceUnavailable, plan.Rendered{Backend: &plan.BackendFields{Closed: true}}
		}
		scope.onlyHTTP1 = func() bool { return q.m.lookups.Protocol(c, k.Backend) == model.HTTP1 }
		scope.hasPicker = func() bool { return q.m.lookups.HasPicker(c, k.Backend.Object) }
		scope.where = extend.Location{Object: k.Backend.Object.String(), Section: out.Port, Connections: place.At}
		scope.elsewhere = place.requests
		own := q.m.Store.policiesOn(c, k.Backend.Object, kind.Kind)
		for _, f := range kind.Features {
			list := append(broad.statementsFor(kind.Kind, f.Name), statementsAt(own, "", LevelBackend, f.Name))
			if out.Port != "" {
				list = append(list, statementsAt(own, out.Port, LevelPort, f.Name))
			}
			if !q.m.Store.ofBackend(f, k.Backend.Object) || noStatements(list) {
				continue
			}
			if decided {
				parts := place.splitConnections(kind, f, list)
				if list = parts.Served; parts.Piece != nil {
					out.Pieces = append(out.Pieces, RulePiece{kind.Kind, *parts.Piece})
				}
			}
			if !noStatements(list) {
				scope.addFeature(f, list)
			}
		}
		for _, f := range scope.features {
			out.Pieces = append(out.Pieces, RulePiece{kind.Kind, scope.newPiece(f, nil)})
		}
	}
	return out, true
}

// portName is the name of a Service's port; "": it has none.
func (m *Translator) portName(c *flow.Ctx, b model.BackendKey) string {
	if b.Object.Kind() != model.KindService {
		return ""
	}
	o, found := flow.Fetch(c, m.inputs.Sources.Services.Collection(), b.Object)
	if !found {
		return ""
	}
	port, _ := resolve.ServicePort(o.Spec, b.Port, b.Carries.Transport())
	return port.Name
}

// toSettings are what is rendered of it.
func (b BackendPieces) toSettings() (s plan.BackendSettings, some bool) {
	for _, p := range b.Pieces {
		fields := p.Rendered.OfBackend()
		if fields.IsZero() {
			continue
		}
		s.Add(fields)
		for _, f := range p.Fields {
			if !slices.Contains(s.From, f.From.Policy) {
				s.From = append(s.From, f.From.Policy)
			}
		}
	}
	slices.SortFunc(s.From, model.ObjectRef.Compare)
	return s, len(s.From) > 0
}

// PiecesOfBackend are the features that are in force or turned off for a backend.
func (m *Translator) PiecesOfBackend(v flow.View, k plan.BackendKey) []RulePiece {
	if m.Backends == nil {
		return nil
	}
	b, _ := flow.Get(v, m.Backends, k)
	return b.Pieces
}
