package policy

import (
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// LevelKey names a feature at a level that many rules share: a Gateway or a listener of it. Feature "" names what rules
// have to know of all features there.
type LevelKey struct {
	Gateway model.ObjectRef
	Section string // the listener; "": the Gateway
	Kind    model.Kind
	Feature string
}

// Owner is the kind at the Gateway.
func (k LevelKey) Owner() kindKey { return kindKey{k.Gateway, k.Kind} }

// kindKey names what policies of a kind state at a Gateway: an edit of one reads and renders no other kind again.
type kindKey struct {
	Gateway model.ObjectRef
	Kind    model.Kind
}

// Owner is the Gateway.
func (k kindKey) Owner() model.ObjectRef { return k.Gateway }

// levelGateway is what levels depend on of a Gateway.
type levelGateway struct {
	Class     model.ObjectRef
	DataPlane model.DataPlane
}

// levelFeature is a feature at a level.
type levelFeature struct {
	Stated []statements // of this level and broader ones
	Piece  Piece
	// RouteFieldFeatures, under Feature "": the features that give every rule fields of routes.
	RouteFieldFeatures []string
	// OverrideFeatures, under Feature "": the features that overrides state.
	OverrideFeatures []string
	// RereadGRPC and Anew, under Feature "": the features that the rules of GRPCRoutes, or all, read once more.
	RereadGRPC, Reread []string
	// Agents, under Feature "": the features for which agents' requests are read.
	Agents []string
	// Setters and Readers, under Feature "": the headers in which it is told who sent requests, and the features that
	// depend on headers before that is known.
	Setters []headerSetter
	Readers []headerReads
}

// newLevels has what is stated at each Gateway and at its listeners. A listener that states nothing has what its
// Gateway has.
func (m *Translator) newLevels(in Inputs) *flow.Collection[LevelKey, levelFeature] {
	kinds := flow.Derive(in.Plan.Gateways, "policy/gateway-kinds",
		func(_ *flow.Ctx, ref model.ObjectRef, g model.Gateway, emit func(kindKey, levelGateway)) {
			for _, kind := range m.Store.atRules() {
				emit(kindKey{ref, kind.Kind}, levelGateway{g.Class, g.DataPlane})
			}
		})
	return flow.Derive(kinds, "policy/levels",
		func(c *flow.Ctx, k kindKey, g levelGateway, emit func(LevelKey, levelFeature)) {
			class, own := m.Store.policiesOn(c, g.Class, k.Kind), m.Store.policiesOn(c, k.Gateway, k.Kind)
			if class.Len()+own.Len() > 0 {
				kind, _ := m.Store.FindKind(k.Kind)
				m.emitLevels(c, gatewayLevel{k.Gateway, g.DataPlane, kind, class, own}, emit)
			}
		})
}

// gatewayLevel is what there is of one kind at a Gateway.
type gatewayLevel struct {
	ref        model.ObjectRef
	dataPlane  model.DataPlane
	policyKind Kind
	class, own attachedPolicies
}

// statementsFor are the statements of a feature down to a section.
func (g gatewayLevel) statementsFor(section string, f *Feature) []statements {
	feature := f.Name
	if f.Unmerged != nil && section != "" {
		return []statements{statementsAt(g.own, section, LevelListener, feature)}
	}
	list := []statements{statementsAt(g.class, "", LevelClass, feature), statementsAt(g.own, "", LevelGateway, feature)}
	if section != "" {
		list = append(list, statementsAt(g.own, section, LevelListener, feature))
	}
	return list
}

// renderedFeatures are the features that are rendered at a section: those that it states, and their groups.
func (g gatewayLevel) renderedFeatures(section string) (list []*Feature) {
	for _, f := range g.policyKind.Features {
		if !f.Levels.Has(atRule) || slices.Contains(list, f) {
			continue
		}
		stated := g.statementsFor(section, f)
		if section == "" && noStatements(stated) || section != "" && len(stated[len(stated)-1].List) == 0 {
			continue
		}
		for _, other := range g.policyKind.featureGroup(f) {
			if !slices.Contains(list, other) && !noStatements(g.statementsFor(section, other)) {
				list = append(list, other)
			}
		}
	}
	return list
}

func noStatements(list []statements) bool {
	return !slices.ContainsFunc(list, func(s statements) bool { return len(s.List) > 0 })
}

// emitLevels emits what one kind is at a Gateway and at its listeners, as far as they decide requests. Of the others,
// ports have what becomes of it (portScope).
func (m *Translator) emitLevels(c *flow.Ctx, g gatewayLevel, emit func(LevelKey, levelFeature)) {
	broad, held := map[string]Piece{}, []string(nil)
	var setters []headerSetter // of the Gateway: they hold at its listeners whatever these state
	for _, section := range append([]string{""}, dropEmpty(statedSections(g.own))...) {
		decided := m.decidesConnections(c, g.ref, section)
		scope := m.newScope(c, g.policyKind, g.dataPlane)
		scope.where = placeOf(g.ref, section)
		for _, f := range g.renderedFeatures(section) {
			scope.addFeature(f, g.statementsFor(section, f))
		}
		index := levelFeature{}
		for _, f := range scope.features {
			piece := scope.newPiece(f, broad[f.Name].Rendered.Settings)
			if decided && piece.JSON != "" {
				continue // what turns a feature off is told here, too
			}
			if section == "" {
				broad[f.Name] = piece
			}
			if len(piece.Rendered.Fields) > 0 {
				index.RouteFieldFeatures = append(index.RouteFieldFeatures, f.Name)
			}
			if hasOverride(scope.stated[f.Name]) {
				index.OverrideFeatures = append(index.OverrideFeatures, f.Name)
			}
			index.noteReread(f.Name, piece)
			index.noteHeaders(f.Name, piece)
			if f.Agents.Rendered != nil {
				index.Agents = append(index.Agents, f.Name)
			}
			emit(LevelKey{g.ref, section, g.policyKind.Kind, f.Name}, levelFeature{Stated: scope.stated[f.Name], Piece: piece})
		}
		if section != "" {
			for name, piece := range broad {
				if scope.hasFeature(name) {
					continue
				}
				if len(piece.Rendered.Fields) > 0 && !slices.Contains(index.RouteFieldFeatures, name) {
					index.RouteFieldFeatures = append(index.RouteFieldFeatures, name)
				}
				index.noteReread(name, piece)
				index.noteReads(name, piece)
				if g.policyKind.FindFeature(name).Agents.Rendered != nil {
					index.Agents = append(index.Agents, name)
				}
			}
			slices.Sort(index.RouteFieldFeatures)
			slices.Sort(index.RereadGRPC)
			slices.Sort(index.Reread)
			slices.Sort(index.Agents)
			slices.SortFunc(index.Readers, headerReads.compareFeature)
			index.Setters = append(index.Setters, setters...)
			for _, name := range held {
				if !slices.Contains(index.OverrideFeatures, name) {
					index.OverrideFeatures = append(index.OverrideFeatures, name)
				}
			}
		}
		if section == "" {
			held, setters = index.OverrideFeatures, index.Setters
		}
		emit(LevelKey{g.ref, section, g.policyKind.Kind, ""}, index)
	}
}

// noteReread notes which rules read a feature once more.
func (l *levelFeature) noteReread(feature string, p Piece) {
	switch p.RereadPerRule {
	case extend.RereadGRPC:
		l.RereadGRPC = append(l.RereadGRPC, feature)
	case extend.RereadAll:
		l.Reread = append(l.Reread, feature)
	}
}

// dropEmpty are the names that are not empty.
func dropEmpty(sections []string) []string {
	return slices.DeleteFunc(sections, func(s string) bool { return s == "" })
}

// hasOverride tells whether one of the statements is an override.
func hasOverride(list []statements) bool {
	return slices.ContainsFunc(list, func(l statements) bool {
		return slices.ContainsFunc(l.List, func(s statement) bool { return s.Override })
	})
}
