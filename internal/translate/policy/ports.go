package policy

import (
	"fmt"
	"iter"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// PortPieces is what policies come to for the connections of a port's listeners.
type PortPieces struct {
	Protocol model.Protocol
	Shared   []RulePiece   // all listeners of the port have one value of these
	Chains   []ChainPieces // all filter chains of the port
}

// ChainPieces is a filter chain: each HTTPS listener has its own, all HTTP listeners of a port share one.
type ChainPieces struct {
	Listeners []model.ListenerKey
	Pieces    []RulePiece
}

// allPieces are all, with where they count.
func (p PortPieces) allPieces(k model.PortKey) iter.Seq2[string, RulePiece] {
	return func(yield func(string, RulePiece) bool) {
		for _, chain := range append([]ChainPieces{{Pieces: p.Shared}}, p.Chains...) {
			for _, piece := range chain.Pieces {
				if !yield(chain.describe(k), piece) {
					return
				}
			}
		}
	}
}

// describe is a chain as users are told it.
func (ch ChainPieces) describe(k model.PortKey) string {
	if len(ch.Listeners) == 1 {
		return LevelKey{Gateway: k.Gateway, Section: ch.Listeners[0].Level(k.Gateway)}.String()
	}
	return fmt.Sprintf("port %d of %s", k.Number, k.Gateway)
}

// ofListener are the pieces that count for a listener.
func (p PortPieces) ofListener(k model.ListenerKey) []RulePiece {
	list := slices.Clone(p.Shared)
	for _, chain := range p.Chains {
		if slices.Contains(chain.Listeners, k) {
			list = append(list, chain.Pieces...)
		}
	}
	return list
}

// newPorts has the ports that have statements for their listeners.
func (m *Translator) newPorts() *flow.Collection[model.PortKey, PortPieces] {
	kinds := m.Store.kindsAtPorts()
	return flow.Map(m.inputs.Plan.Ports, "policy/ports",
		func(c *flow.Ctx, k model.PortKey, port model.Port) (out PortPieces, some bool) {
			g, _ := flow.Fetch(c, m.inputs.Plan.Gateways, k.Gateway)
			listeners := servingListeners(port)
			out.Protocol, out.Chains = port.Protocol, chainsOf(port.Protocol, listeners)
			for _, kind := range kinds {
				q := portScope{
					m: m, c: c, policyKind: kind, port: port,
					class: m.Store.policiesOn(c, g.Class, kind.Kind), own: m.Store.policiesOn(c, k.Gateway, kind.Kind),
				}
				if q.class.Len()+q.own.Len() == 0 {
					continue
				}
				out.Shared = append(out.Shared, q.listenerPieces(listeners, true)...)
				some = some || len(out.Shared) > 0
				for i := range out.Chains {
					chain := &out.Chains[i]
					chain.Pieces = append(chain.Pieces, q.listenerPieces(chain.Listeners, false)...)
					some = some || len(chain.Pieces) > 0
				}
			}
			return out, some
		})
}

func chainsOf(p model.Protocol, listeners []model.ListenerKey) (chains []ChainPieces) {
	if p.Plaintext() {
		return []ChainPieces{{Listeners: listeners}}
	}
	for _, l := range listeners {
		chains = append(chains, ChainPieces{Listeners: []model.ListenerKey{l}})
	}
	return chains
}

// servingListeners are the listeners of a port that serve.
func servingListeners(port model.Port) (list []model.ListenerKey) {
	for _, l := range port.Listeners {
		if l.Serves {
			list = append(list, l.Key)
		}
	}
	return list
}

// kindsAtPorts are the kinds with features that are stated for connections, or for the requests of listeners: of these
// it matters what becomes of them where connections are decided.
func (s *Store) kindsAtPorts() (list []Kind) {
	for _, k := range s.Kinds {
		if k.OfListeners() || k.AtRule() {
			list = append(list, k)
		}
	}
	return list
}

// OfListeners tells whether some of the kind's features are stated for connections.
func (k Kind) OfListeners() bool { return k.hasLevels(extend.AtListener) || k.hasLevels(extend.AtPort) }

// portScope looks at the listeners of a port, for one kind.
type portScope struct {
	m          *Translator
	c          *flow.Ctx
	policyKind Kind
	port       model.Port
	class, own attachedPolicies
}

// listenerPieces are those of listeners that share one value: of the features and fields of a port, or of the others.
func (q portScope) listenerPieces(listeners []model.ListenerKey, ofPort bool) (list []RulePiece) {
	scope := q.m.newScope(q.c, q.policyKind, q.port.DataPlane)
	scope.renderFunc = plan.Renderer.RenderListener
	scope.renderDenied = func(int, string, model.ObjectRef) (int, plan.Rendered) { // there is no request to answer
		return 0, plan.Rendered{Listener: &plan.ListenerFields{Closed: true}}
	}
	scope.where = extend.Location{
		Inherited: true, Object: q.port.Key.Gateway.String(), Plaintext: q.port.Protocol.Plaintext(),
	}
	if len(listeners) == 1 {
		scope.where.Section = listeners[0].Level(q.port.Key.Gateway)
	}
	if l, served := flow.Fetch(q.c, q.m.inputs.Plan.Listeners, listeners[0]); served && l.Clients != nil {
		scope.where.ClientCA, scope.where.AnyClient = true, l.Clients.Optional
	}
	scope.gateway = q.port.Key.Gateway
	place, decided := q.placeOf(listeners)
	scope.where.Connections, scope.elsewhere = place.At, place.requests
	told := map[string]sharedValue{}
	for _, f := range q.policyKind.Features {
		switch {
		case !f.atListeners(ofPort) && !(decided && !ofPort && f.Levels.Has(atRule)):
			continue
		case f.TLSOnly && q.port.Protocol.Plaintext() && !decided:
			list = append(list, q.withoutTLS(f, listeners, ofPort)...)
			continue
		}
		s := q.joinShared(f, listeners, ofPort)
		if decided && !noStatements(s.Stated) {
			parts := place.splitConnections(q.policyKind, f, s.Stated)
			if s.Stated = parts.Served; parts.Piece != nil {
				list = append(list, RulePiece{q.policyKind.Kind, *parts.Piece})
			}
		}
		if !noStatements(s.Stated) {
			scope.addFeature(f, s.Stated)
			told[f.Name] = s
		}
	}
	for _, f := range scope.features {
		p := scope.newPiece(f, nil)
		if !ofPort && len(p.Rendered.OfListener().Port) > 0 {
			panic(fmt.Sprintf("the feature %s has fields of a port: it has to be AtPort, or to have PortFields", f.Name))
		}
		if f.Levels.Has(extend.AtListener) && ofPort {
			fields := p.Rendered.OfListener().PortOnly()
			p.Rendered.Listener = &fields
		}
		p.Findings = append(p.Findings, told[f.Name].Findings...)
		p.Superseded = append(p.Superseded, told[f.Name].Superseded...)
		list = append(list, RulePiece{q.policyKind.Kind, p})
	}
	return list
}

// placeOf is where the connections of some listeners are decided; false: they decide requests, or some of them do.
func (q portScope) placeOf(listeners []model.ListenerKey) (p connectionPlace, decided bool) {
	for i, k := range listeners {
		l, _ := flow.Fetch(q.c, q.m.inputs.Plan.Listeners, k)
		of, is := q.placeOfListener(l)
		if !is || i > 0 && of.At != p.At {
			return connectionPlace{}, false
		}
		p = of
	}
	return p, true
}

// withoutTLS refuses what is stated for listeners of a feature that has no effect without TLS.
func (q portScope) withoutTLS(f *Feature, listeners []model.ListenerKey, ofPort bool) (list []RulePiece) {
	piece := Piece{Effective: Effective{Feature: f.Name}}
	for _, s := range q.statementsFor(f, listeners, ofPort, nil) {
		if s.Level != LevelListener {
			continue
		}
		for _, own := range s.List {
			piece.Findings = append(piece.Findings, Finding{
				Policy: own.Policy, Condition: "Accepted", Reason: "Invalid", Field: fieldOf(f.Name, ""),
				Message: fmt.Sprintf("it has no effect on a listener without TLS (port %d of %s); target one of protocol HTTPS, "+
					"or take it out", q.port.Key.Number, q.port.Key.Gateway),
			})
		}
	}
	if len(piece.Findings) == 0 {
		return nil
	}
	piece.Idle = "it has no effect on a listener without TLS"
	return []RulePiece{{q.policyKind.Kind, piece}}
}

// atListeners tells whether a feature, or a field of it, is stated for ports, or for listeners.
func (f *Feature) atListeners(ofPort bool) bool {
	if f.Levels.Has(extend.AtPort) {
		return ofPort
	}
	return f.Levels.Has(extend.AtListener) && (!ofPort || len(f.PortFields) > 0)
}
