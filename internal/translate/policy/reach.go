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

// Reached is what became of a field that a policy states.
type Reached struct {
	Field, Value string   // the value as JSON
	InForce      []string // where it counts: "Gateway infra/edge", "rule orders of HTTPRoute shop/web"
	Lost         []string // where it does not, and what does: "rule public of HTTPRoute shop/web, by ..."
}

// Reach tells of each field of a policy where it counts, by field.
func (m *Meaning) Reach(v flow.View, ref model.ObjectRef) []Reached {
	if m.told == nil {
		return nil
	}
	r := reach{of: ref, at: map[string]*Reached{}}
	members, _ := flow.Get(v, m.told, ref)
	for k := range members.All() {
		for at, p := range m.piecesAt(v, k) {
			r.add(p, at)
		}
	}
	list := make([]Reached, 0, len(r.at))
	for _, one := range r.at {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Reached) int { return strings.Compare(a.Field, b.Field) })
	return list
}

// piecesAt are the pieces at a place, with where they count.
func (m *Meaning) piecesAt(v flow.View, k place) iter.Seq2[string, Piece] {
	return func(yield func(string, Piece) bool) {
		switch {
		case k.Route != model.ObjectRef{}:
			route, _ := flow.Get(v, m.Routes, k.Route)
			for rule, p := range route.pieces() {
				if !yield(fmt.Sprintf("rule %s of %s", rule.Name, k.Route), p.Piece) {
					return
				}
			}
		case k.Port != model.PortKey{}:
			port, _ := flow.Get(v, m.Ports, k.Port)
			for at, p := range port.pieces(k.Port) {
				if !yield(at, p.Piece) {
					return
				}
			}
		case k.Backend != plan.BackendKey{}:
			for _, p := range m.OfBackend(v, k.Backend) {
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
	return fmt.Sprintf("%s at %s", k.Backend.Words(), k.Gateway)
}

// reach gathers what became of a policy's fields.
type reach struct {
	of model.ObjectRef
	at map[string]*Reached
}

func (r *reach) field(p Piece, path, value string) *Reached {
	name := FieldPath(p.Feature, path)
	if r.at[name] == nil {
		r.at[name] = &Reached{Field: name, Value: value}
	}
	return r.at[name]
}

func (r *reach) add(p Piece, at string) {
	once := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	here := at
	switch {
	case p.Status != 0:
		here = fmt.Sprintf("%s, where requests are answered with %d", at, p.Status)
	case p.Rendered.OfListener().Closed:
		here += ", where connections are closed"
	case slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Severity == model.Error }):
		here += ", as far as it can be served"
	}
	for _, f := range p.Fields {
		if f.From.Policy == r.of {
			once(&r.field(p, f.Path, f.Value).InForce, here)
		}
	}
	if p.JSON == "" && p.Disabled.Policy == r.of && !p.TurnsOffNothing() {
		once(&r.field(p, "", "off").InForce, at)
	}
	for _, l := range p.Lost {
		if l.From.Policy == r.of {
			once(&r.field(p, l.Path, l.Value).Lost, fmt.Sprintf("%s, by %s", at, l.By))
		}
	}
}
