package policy

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// FieldReach is what became of a field that a policy states.
type FieldReach struct {
	Field, Value string   // the value as JSON
	InForce      []string // where it counts: "Gateway infra/edge", "rule orders of HTTPRoute shop/web"
	Lost         []string // where it does not, and what does: "rule public of HTTPRoute shop/web, by ..."
}

// TraceFields tells of each field of a policy where it counts, by field.
func (m *Translator) TraceFields(v flow.View, ref model.ObjectRef) []FieldReach {
	if m.placeReports == nil {
		return nil
	}
	r := fieldTracer{of: ref, at: map[string]*FieldReach{}}
	members, _ := flow.Get(v, m.placeReports, ref)
	for k := range members.All() {
		for at, p := range m.eachPieceAt(v, k) {
			r.addPiece(p, at)
		}
	}
	list := make([]FieldReach, 0, len(r.at))
	for _, one := range r.at {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b FieldReach) int { return strings.Compare(a.Field, b.Field) })
	return list
}

// eachPieceAt are the pieces at a place, with where they count.
func (m *Translator) eachPieceAt(v flow.View, k settingsKey) iter.Seq2[string, Piece] {
	return func(yield func(string, Piece) bool) {
		switch {
		case k.Route != model.ObjectRef{}:
			route, _ := flow.Get(v, m.Routes, k.Route)
			for rule, p := range route.allPieces() {
				if !yield(fmt.Sprintf("rule %s of %s", rule.Name, k.Route), p.Piece) {
					return
				}
			}
		case k.Port != model.PortKey{}:
			port, _ := flow.Get(v, m.Ports, k.Port)
			for at, p := range port.allPieces(k.Port) {
				if !yield(at, p.Piece) {
					return
				}
			}
		case k.Backend != plan.BackendKey{}:
			for _, p := range m.PiecesOfBackend(v, k.Backend) {
				if !yield(backendPlace(k.Backend), p.Piece) {
					return
				}
			}
		default:
			l, _ := flow.Get(v, m.Levels, k.Level)
			yield(k.Level.String(), l.Piece)
		}
	}
}

// String is the level as users are told it.
func (k LevelKey) String() string {
	if k.Section == "" {
		return k.Gateway.String()
	}
	return fmt.Sprintf("listener %s of %s", k.Section, k.Gateway)
}

// backendPlace is a backend as users are told of it.
func backendPlace(k plan.BackendKey) string {
	return fmt.Sprintf("%s at %s", k.Backend.Describe(), k.Gateway)
}

// fieldTracer gathers what became of a policy's fields.
type fieldTracer struct {
	of model.ObjectRef
	at map[string]*FieldReach
}

func (r *fieldTracer) reachOf(p Piece, path, value string) *FieldReach {
	name := FieldPath(p.Feature, path)
	if r.at[name] == nil {
		r.at[name] = &FieldReach{Field: name, Value: value}
	}
	return r.at[name]
}

func (r *fieldTracer) addPiece(p Piece, at string) {
	once := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	here := at
	switch {
	case p.Status != 0:
		here = fmt.Sprintf("%s, where requests get %d", at, p.Status)
	case p.Rendered.OfListener().Closed:
		here += ", where connections are closed"
	case slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Severity == model.Error }):
		here += ", as far as it can be served"
	}
	for _, f := range p.Fields {
		if f.From.Policy == r.of {
			once(&r.reachOf(p, f.Path, f.Value).InForce, here)
		}
	}
	if p.JSON == "" && p.Disabled.Policy == r.of && !p.TurnsOffNothing() {
		once(&r.reachOf(p, "", "off").InForce, at)
	}
	for _, l := range p.Superseded {
		if l.From.Policy == r.of {
			once(&r.reachOf(p, l.Path, l.Value).Lost, fmt.Sprintf("%s, by %s", at, l.By))
		}
	}
}
