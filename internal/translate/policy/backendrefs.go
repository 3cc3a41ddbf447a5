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

// allPieces are the pieces of a rule and of its backendRefs.
func (r RulePieces) allPieces() iter.Seq[RulePiece] {
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
		for _, f := range r.policyKind.Features {
			if f.Levels.Has(extend.AtBackendRef) && !noStatements(r.namedStatements(b.Policies, LevelBackendRef, f.Name)) ||
				!noStatements(r.onBackend(b.Backend.Object, f)) {
				for _, g := range r.policyKind.featureGroup(f) {
					if !slices.Contains(restated, g) {
						restated = append(restated, g)
					}
				}
			}
		}
		if len(restated) > 0 {
			out.Refs = append(out.Refs, r.piecesOfRef(i, restated, out))
		}
	}
}

// piecesOfRef are the pieces of a backendRef for some features.
func (r *ruleScope) piecesOfRef(index int, features []*Feature, rule *RulePieces) RefPieces {
	pieces := RefPieces{Index: index}
	scope := r.newScope()
	for _, f := range features {
		if f.Unmerged != nil {
			scope.addFeature(f, r.onBackend(r.rule.Backends[index].Backend.Object, f))
			continue
		}
		own, stated := r.ownFields(f)
		list := r.statedWith(f, r.broaderLevel(f.Name), own, stated)
		list = append(list, r.namedStatements(r.rule.Backends[index].Policies, LevelBackendRef, f.Name)...)
		if !noStatements(list) {
			scope.addFeature(f, list)
		}
	}
	for _, f := range scope.features {
		farther := r.broaderLevel(f.Name).Piece.Rendered.Settings
		for _, p := range rule.Pieces {
			if p.Kind == r.policyKind.Kind && p.Feature == f.Name {
				farther = p.Rendered.Settings
			}
		}
		pieces.Pieces = append(pieces.Pieces, RulePiece{r.policyKind.Kind, scope.newPiece(f, farther)})
	}
	for _, name := range r.levelOf("").RouteFieldFeatures {
		restates := slices.ContainsFunc(features, func(f *Feature) bool { return f.Name == name })
		piece := slices.ContainsFunc(rule.Pieces, func(p RulePiece) bool {
			return p.Kind == r.policyKind.Kind && p.Feature == name
		})
		if !restates && !piece {
			pieces.Inherited = append(pieces.Inherited, r.broaderLevel(name).Piece.Rendered.Fields...)
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
			if !ref.hasFeature(p) {
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

func (r RefPieces) hasFeature(p RulePiece) bool {
	return slices.ContainsFunc(r.Pieces, func(own RulePiece) bool {
		return own.Kind == p.Kind && own.Feature == p.Feature
	})
}
