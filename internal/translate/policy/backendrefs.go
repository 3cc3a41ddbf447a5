package policy

import (
	"bytes"
	"iter"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// RefPieces are those of a backendRef of a rule. They count in place of the rule's of the same features.
type RefPieces struct {
	Index  int // in model.Rule.Backends
	Pieces []RulePiece
	// Inherited are the fields of routes of broader levels than the rule that hold for the backendRef, too.
	Inherited model.Encoded
}

// all are the pieces of a rule and of its backendRefs.
func (r RulePieces) all() iter.Seq[RulePiece] {
	return func(yield func(RulePiece) bool) {
		lists := [][]RulePiece{r.Pieces}
		for _, ref := range r.Refs {
			lists = append(lists, ref.Pieces)
		}
		for _, list := range lists {
			for _, p := range list {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// addRefs adds the pieces of the kind for backendRefs. The pieces of the rule are there.
func (r *ruleScope) addRefs(out *RulePieces) {
	for i, b := range r.rule.Backends {
		var restated []*Feature
		for _, f := range r.kind.Features {
			if f.Levels.Has(extend.AtBackendRef) && !empty(r.named(b.Policies, LevelBackendRef, f.Name)) ||
				!empty(r.onBackend(b.Backend.Object, f)) {
				for _, g := range r.kind.together(f) {
					if !slices.Contains(restated, g) {
						restated = append(restated, g)
					}
				}
			}
		}
		if len(restated) > 0 {
			out.Refs = append(out.Refs, r.restated(i, restated, out))
		}
	}
}

// restated are the pieces of a backendRef for some features.
func (r *ruleScope) restated(index int, features []*Feature, rule *RulePieces) RefPieces {
	pieces := RefPieces{Index: index}
	scope := r.scope()
	for _, f := range features {
		if f.EachLevel {
			scope.add(f, r.onBackend(r.rule.Backends[index].Backend.Object, f))
			continue
		}
		own, stated := r.ownFields(f)
		list := r.statedWith(f, r.broader(f.Name), own, stated)
		list = append(list, r.named(r.rule.Backends[index].Policies, LevelBackendRef, f.Name)...)
		if !empty(list) {
			scope.add(f, list)
		}
	}
	for _, f := range scope.features {
		farther := r.broader(f.Name).Piece.Rendered.Settings
		for _, p := range rule.Pieces {
			if p.Kind == r.kind.Kind && p.Feature == f.Name {
				farther = p.Rendered.Settings
			}
		}
		pieces.Pieces = append(pieces.Pieces, RulePiece{r.kind.Kind, scope.piece(f, farther)})
	}
	for _, name := range r.level("").Inherits {
		restates := slices.ContainsFunc(features, func(f *Feature) bool { return f.Name == name })
		piece := slices.ContainsFunc(rule.Pieces, func(p RulePiece) bool {
			return p.Kind == r.kind.Kind && p.Feature == name
		})
		if !restates && !piece {
			pieces.Inherited = append(pieces.Inherited, r.broader(name).Piece.Rendered.Fields...)
		}
	}
	return pieces
}

// addRefs adds what is rendered for backendRefs.
func (r RulePieces) addRefs(to *plan.RuleSettings) {
	for _, ref := range r.Refs {
		for len(to.Backends) <= ref.Index {
			to.Backends, to.BackendFields = append(to.Backends, nil), append(to.BackendFields, nil)
		}
		fields := bytes.Clone(ref.Inherited)
		for _, p := range r.Pieces {
			if !ref.has(p) {
				fields = append(fields, p.Rendered.Fields...)
			}
		}
		for _, p := range ref.Pieces {
			to.Backends[ref.Index] = append(to.Backends[ref.Index], p.Rendered.Settings...)
			fields = append(fields, p.Rendered.Fields...)
		}
		if !bytes.Equal(fields, to.Fields) {
			to.BackendFields[ref.Index] = append([]byte{}, fields...)
		}
	}
}

func (r RefPieces) has(p RulePiece) bool {
	return slices.ContainsFunc(r.Pieces, func(own RulePiece) bool {
		return own.Kind == p.Kind && own.Feature == p.Feature
	})
}
