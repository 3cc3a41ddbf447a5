package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// Where connections are decided, and not requests, few features can be served (extend.Connections). The others are
// refused by field. If they protect, all connections of the place are closed: a policy must not leave open what it
// seems to protect.

// connectionPlace is a listener, or a backend, with connections.
type connectionPlace struct {
	At    extend.ConnectionKinds
	Name  string // "listener db of Gateway shop/edge"
	Why   string // "its protocol is TCP"
	Close string // what happens if it is closed: "its connections are closed"
	// requests tells whether what is stated at a level also reaches requests.
	requests func(Level) bool
	closed   plan.Rendered // what is rendered if it is closed
}

// connectionParts is what becomes of the statements of a feature at a place.
type connectionParts struct {
	Served []statements // without the fields that can't be served
	Piece  *Piece       // nil: all of it can be served
}

// protocolName is a protocol of listeners, and what they do with TLS.
func protocolName(p model.Protocol, mode model.TLSMode) string {
	if p != model.TLS {
		return string(p)
	}
	return fmt.Sprintf("%s (mode %s)", p, mode)
}

// placeOfListener is where a listener's connections are decided; false: it decides requests.
func (q portScope) placeOfListener(l model.Listener) (p connectionPlace, is bool) {
	p = connectionPlace{
		At: extend.ConnectionsOf(l.Protocol, l.TLS), Name: LevelKey{Gateway: l.Gateway, Section: l.Key.Section}.String(),
		Why: "the protocol is " + protocolName(l.Protocol, l.TLS), Close: "all its connections are closed",
		closed: plan.Rendered{Listener: &plan.ListenerFields{Closed: true}},
	}
	p.requests = func(from Level) bool { return from < LevelListener && q.m.takesRequests(q.c, l.Gateway) }
	return p, p.At != 0
}

// takesRequests tells whether a Gateway has a listener that decides requests.
func (m *Translator) takesRequests(c *flow.Ctx, gateway model.ObjectRef) bool {
	return slices.ContainsFunc(m.listenersOf(c, gateway), func(l gatewayListener) bool {
		d, known := l.Protocol.Declared()
		return known && d.Requests
	})
}

// decidesConnections tells whether a listener of a Gateway decides connections; section "": whether all do.
func (m *Translator) decidesConnections(c *flow.Ctx, gateway model.ObjectRef, section string) (all bool) {
	for _, l := range m.listenersOf(c, gateway) {
		if d, known := l.Protocol.Declared(); section == "" || l.Section == section {
			if all = known && !d.Requests; !all {
				return false
			}
		}
	}
	return all
}

// placeOfBackend is a backend that gets connections; false: it gets requests.
func (q backendScope) placeOfBackend(c *flow.Ctx, k plan.BackendKey) (p connectionPlace, is bool) {
	p = connectionPlace{
		Name: backendPlace(k), Close: "it gets no connections",
		closed: plan.Rendered{Backend: &plan.BackendFields{Closed: true}},
	}
	switch k.Backend.Carries {
	case model.Bytes:
		p.At, p.Why = extend.OverTCP, "routes send it TCP connections, not requests"
	case model.Passthrough:
		p.At, p.Why = extend.OverPassthrough, "routes send it TLS connections, not requests"
	case model.Datagrams:
		p.At, p.Why, p.Close = extend.OverUDP, "routes send it UDP datagrams, not requests", "it gets no datagrams"
	default:
		return p, false
	}
	p.requests = func(from Level) bool {
		if from < LevelBackend {
			return q.m.takesRequests(c, k.Gateway)
		}
		asked := k
		asked.Backend.Carries = ""
		for _, asked.Backend.HTTP2 = range []bool{false, true} { // an HTTPRoute's, and a GRPCRoute's
			if _, used := flow.Fetch(c, q.m.inputs.Plan.RoutesByBackend, asked); used {
				return true
			}
		}
		return false
	}
	return p, true
}

// splitConnections splits what is stated of a feature at a place: what can be served there, and what is refused.
func (p connectionPlace) splitConnections(k Kind, f *Feature, stated []statements) connectionParts {
	if f.Name == closingFeature {
		return connectionParts{Served: stated} // it can't be served anywhere
	}
	var all Effective
	if f.Unmerged != nil {
		all = mergeEachLevel(f, k.Kind, stated)
	} else {
		all = mergeStatements(f.Name, f.merge, stated)
	}
	piece := Piece{Effective: Effective{Feature: f.Name}}
	closes := false
	alternatives := map[bool]bool{} // those of f.OneOf that are stated, by whether they can be served
	for _, field := range all.Fields {
		inherited := field.From.Level < LevelListener
		if inherited && f.TLSOnly && p.At&(extend.OverTCP|extend.OverUDP) != 0 {
			continue // as at a listener for requests without TLS
		}
		for _, top := range topFields(field) {
			if slices.Contains(f.OneOf, top) {
				alternatives[f.Serves(top, p.At)] = true
			}
			if f.Serves(top, p.At) {
				continue
			}
			closing := f.closesConnections(k, top, stated)
			closes = closes || closing
			if !f.ServesSome(p.At) {
				top = "" // one finding for all of it
			}
			said, tell := p.newRefusal(f, top, field.From, closing)
			if tell && !slices.Contains(piece.Findings, said) {
				piece.Findings = append(piece.Findings, said)
			}
		}
	}
	served := make([]statements, len(stated))
	for i, level := range stated {
		served[i].Level = level.Level
		for _, s := range level.List {
			if s.JSON = f.servedPart(s.JSON, p.At); alternatives[false] && !alternatives[true] {
				s.JSON = ""
			}
			if s.JSON != "" || s.Disable {
				served[i].List = append(served[i].List, s)
			}
		}
	}
	if closes {
		piece.Effective, piece.Rendered = all, p.closed
	}
	if !closes && len(piece.Findings) == 0 {
		return connectionParts{Served: served}
	}
	piece.Idle = "it can't be served where connections are decided"
	return connectionParts{served, &piece}
}

// topFields are the fields of a spec that a path leads to, or below which it leads. One that leads to all of a spec,
// which counts as a whole, leads to each of its fields; "": there are none.
func topFields(field EffectiveField) []string {
	if top := extend.TopField(field.Path); top != "" {
		return []string{top}
	}
	var all map[string]json.RawMessage
	if field.Path != "" || json.Unmarshal([]byte(field.Value), &all) != nil || len(all) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(all))
}

// newRefusal is the finding on a field that can't be served. Nothing is told of what a policy states for a whole
// Gateway or class that has its effect on requests there, unless it closes connections.
func (p connectionPlace) newRefusal(f *Feature, top string, from Source, closes bool) (Finding, bool) {
	said := Finding{
		Policy: from.Policy, Condition: "Accepted", Reason: "Invalid", Field: fieldOf(f.Name, top), Closes: closes,
		Message: fmt.Sprintf("it can't be served at %s, because %s", p.Name, p.Why),
	}
	if closes {
		said.Message += "; so " + p.Close
	}
	said.Message += "; " + f.whereServed(top)
	if elsewhere := p.requests(from.Level) || from.Level == LevelClass; elsewhere {
		said.Severity, said.Condition, said.Reason = model.Warning, "", ""
		if from.Level < LevelListener && f.Levels.Has(atRule) && f.Name != extend.Whole {
			said.Message += fmt.Sprintf(", or state disable: [%s] for this one", f.Name)
		}
		return said, closes
	}
	return said, true
}

// whereServed says for which listeners, or backends, a field can be stated.
func (f *Feature) whereServed(top string) string {
	if f.Levels.Has(extend.AtBackend) {
		if f.Serves(top, extend.OverStreams) {
			return "state it for backends of HTTPRoutes, GRPCRoutes, TCPRoutes and TLSRoutes"
		}
		return "state it for backends of HTTPRoutes and GRPCRoutes"
	}
	names := []string{string(model.HTTP), string(model.HTTPS)}
	if f.TLSOnly {
		names = names[1:]
	}
	for _, d := range model.Protocols() {
		modes := d.Modes
		if len(modes) == 0 {
			modes = []model.TLSMode{""}
		}
		for _, mode := range modes {
			if at := extend.ConnectionsOf(d.Name, mode); at != 0 && f.Serves(top, at) {
				names = append(names, protocolName(d.Name, mode))
			}
		}
	}
	return "target listeners of protocol " + strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// closesConnections tells whether connections are closed where a field of the feature can't be served.
func (f *Feature) closesConnections(k Kind, top string, stated []statements) bool {
	switch {
	case f.Harmless:
		return false
	case !f.Levels.Has(atRule) && !f.Levels.Has(extend.AtBackend):
		return slices.Contains(f.ClosingFields, top)
	case k.protects == nil:
		return false
	case f.Name != extend.Whole:
		return k.protects.Protects(map[string]any{f.Name: nil})
	}
	for _, level := range stated {
		for _, s := range level.List {
			spec := map[string]any{}
			if s.Unreadable || json.Unmarshal([]byte(s.JSON), &spec) != nil || k.protects.Protects(spec) {
				return true
			}
		}
	}
	return false
}

// servedPart is what of a spec can be served for connections; "": nothing.
func (f *Feature) servedPart(spec string, at extend.ConnectionKinds) string {
	if spec == "" || f.Serves("", at) {
		return spec
	}
	if !f.ServesSome(at) {
		return ""
	}
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(spec), &all) != nil {
		return spec // the feature's Read refuses it
	}
	maps.DeleteFunc(all, func(field string, _ json.RawMessage) bool { return !f.Serves(field, at) })
	if len(all) == 0 {
		return ""
	}
	return encodeJSON(all)
}

// warnElsewhere makes warnings of what a policy is refused for where connections are decided, if it also reaches
// requests: what is wrong with it for these, too, is told there.
func (s *featureScope) warnElsewhere(f *Feature, p *Piece) {
	if s.elsewhere == nil || f.TLSOnly || f.Name == closingFeature {
		return
	}
	for i, found := range p.Findings {
		for _, field := range p.Fields {
			if field.From.Policy == found.Policy && (field.From.Level == LevelClass || s.elsewhere(field.From.Level)) &&
				found.Severity == model.Error && found.Condition == "Accepted" {
				p.Findings[i].Severity, p.Findings[i].Condition, p.Findings[i].Reason = model.Warning, "", ""
				p.Findings[i].Closes = f.OnInvalid == extend.Deny
			}
		}
	}
}
