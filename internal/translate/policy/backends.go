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

// Backend is what policies come to at a backend, as a Gateway's proxies have it.
type Backend struct {
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

// of are those of one feature.
func (l backendLevel) of(kind model.Kind, feature string) []statements {
	for _, s := range l.Stated {
		if s.Kind == kind && s.Feature == feature {
			return slices.Clone(s.Levels)
		}
	}
	return nil
}

// others are the backends that only settings send requests to.
func (m *Meaning) others(
	users *flow.Collection[plan.BackendKey, Users],
) *flow.Collection[plan.BackendKey, model.DataPlane] {
	return flow.Map(users, "policy/other-backends",
		func(c *flow.Ctx, k plan.BackendKey, _ Users) (model.DataPlane, bool) {
			_, used := flow.Fetch(c, m.in.Plan.Users, k)
			g, found := flow.Fetch(c, m.in.Plan.Gateways, k.Gateway)
			return g.DataPlane, found && !used
		})
}

// backends has the backends for which something is stated, and those that a policy targets.
func (m *Meaning) backends() *flow.Collection[plan.BackendKey, Backend] {
	q := backendScope{m, m.Store.having(extend.AtBackend), m.backendLevels()}
	return flow.Merge("policy/backends",
		flow.From(m.in.Plan.Users, func(c *flow.Ctx, k plan.BackendKey, _ flow.Members[model.ObjectRef, model.Route]) (
			Backend, bool,
		) {
			return q.at(c, k)
		}),
		flow.From(m.Others, func(c *flow.Ctx, k plan.BackendKey, _ model.DataPlane) (Backend, bool) { return q.at(c, k) }))
}

func (m *Meaning) backendLevels() *flow.Collection[model.ObjectRef, backendLevel] {
	kinds := m.Store.having(extend.AtBackend)
	return flow.Map(m.in.Plan.Gateways, "policy/backend-levels",
		func(c *flow.Ctx, ref model.ObjectRef, g model.Gateway) (l backendLevel, some bool) {
			for _, kind := range kinds {
				class, own := m.Store.on(c, g.Class, kind.Kind), m.Store.on(c, ref, kind.Kind)
				for _, f := range kind.Features {
					if !f.Levels.Has(extend.AtBackend) {
						continue
					}
					stated := []statements{at(class, "", LevelClass, f.Name), at(own, "", LevelGateway, f.Name)}
					if !empty(stated) {
						l.Stated = append(l.Stated, broadStatements{kind.Kind, f.Name, stated})
					}
				}
			}
			return l, len(l.Stated) > 0
		})
}

// backendScope looks at backends.
type backendScope struct {
	m     *Meaning
	kinds []Kind
	broad *flow.Collection[model.ObjectRef, backendLevel]
}

// at is what is stated for a backend. One for which nothing is has two fetches that find nothing.
func (q backendScope) at(c *flow.Ctx, k plan.BackendKey) (out Backend, some bool) {
	if k.Backend.Picker {
		return out, false // no requests of clients go there
	}
	broad, stated := flow.Fetch(c, q.broad, k.Gateway)
	_, targeted := flow.Fetch(c, q.m.Store.touched, k.Backend.Object)
	if !stated && !targeted {
		return out, false
	}
	g, found := flow.Fetch(c, q.m.in.Plan.Gateways, k.Gateway)
	if !found {
		return out, false
	}
	if targeted {
		out.Port = q.m.portName(c, k.Backend)
	}
	for _, kind := range q.kinds {
		scope := q.m.scope(c, kind, g.DataPlane)
		scope.rendering = func(r plan.Renderer, v extend.Value, _ model.ObjectRef) (plan.Rendered, bool) {
			return r.Backend(v, k.Backend)
		}
		scope.denied = func(int, string, model.ObjectRef) (int, plan.Rendered) {
			return http.StatusServiceUnavailable, plan.Rendered{Backend: &plan.BackendFields{Closed: true}}
		}
		scope.http1 = func() bool { return q.m.lookups.Protocol(c, k.Backend) == model.HTTP1 }
		scope.picked = func() bool { return q.m.lookups.Picked(c, k.Backend.Object) }
		scope.where = extend.Where{Object: k.Backend.Object.String(), Section: out.Port}
		own := q.m.Store.on(c, k.Backend.Object, kind.Kind)
		for _, f := range kind.Features {
			list := append(broad.of(kind.Kind, f.Name), at(own, "", LevelBackend, f.Name))
			if out.Port != "" {
				list = append(list, at(own, out.Port, LevelPort, f.Name))
			}
			if f.ofBackend(k.Backend.Object) && !empty(list) {
				scope.add(f, list)
			}
		}
		for _, f := range scope.features {
			out.Pieces = append(out.Pieces, RulePiece{kind.Kind, scope.piece(f, nil)})
		}
	}
	return out, true
}

// portName is the name of a Service's port; "": it has none.
func (m *Meaning) portName(c *flow.Ctx, b model.BackendKey) string {
	if b.Object.Kind() != model.KindService {
		return ""
	}
	o, found := flow.Fetch(c, m.in.Sources.Services.Collection(), b.Object)
	if !found {
		return ""
	}
	port, _ := resolve.ServicePort(o.Spec, b.Port)
	return port.Name
}

// settings are what is rendered of it.
func (b Backend) settings() (s plan.BackendSettings, some bool) {
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

// OfBackend are the features that are in force or turned off for a backend.
func (m *Meaning) OfBackend(v flow.View, k plan.BackendKey) []RulePiece {
	if m.Backends == nil {
		return nil
	}
	b, _ := flow.Get(v, m.Backends, k)
	return b.Pieces
}
