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

// level is a feature at a level.
type level struct {
	Stated []statements // of this level and broader ones
	Piece  Piece
	// Inherits, under Feature "": the features that give every rule fields of routes.
	Inherits []string
	// Holds, under Feature "": the features that overrides state.
	Holds []string
	// AnewGRPC and Anew, under Feature "": the features that the rules of GRPCRoutes, or all, read once more.
	AnewGRPC, Anew []string
	// Agents, under Feature "": the features for which agents' requests are read.
	Agents []string
	// Setters and Readers, under Feature "": the headers in which it is told who sent requests, and the features that
	// depend on headers before that is known.
	Setters []setter
	Readers []headerReads
}

// levels has what is stated at each Gateway and at its listeners. A listener that states nothing has what its Gateway
// has.
func (m *Meaning) levels(in Inputs) *flow.Collection[LevelKey, level] {
	kinds := flow.Derive(in.Plan.Gateways, "policy/gateway-kinds",
		func(_ *flow.Ctx, ref model.ObjectRef, g model.Gateway, emit func(kindKey, levelGateway)) {
			for _, kind := range m.Store.atRules() {
				emit(kindKey{ref, kind.Kind}, levelGateway{g.Class, g.DataPlane})
			}
		})
	return flow.Derive(kinds, "policy/levels",
		func(c *flow.Ctx, k kindKey, g levelGateway, emit func(LevelKey, level)) {
			class, own := m.Store.on(c, g.Class, k.Kind), m.Store.on(c, k.Gateway, k.Kind)
			if class.Len()+own.Len() > 0 {
				kind, _ := m.Store.Of(k.Kind)
				m.emitLevels(c, gatewayLevel{k.Gateway, g.DataPlane, kind, class, own}, emit)
			}
		})
}

// gatewayLevel is what there is of one kind at a Gateway.
type gatewayLevel struct {
	ref        model.ObjectRef
	dataPlane  model.DataPlane
	kind       Kind
	class, own members
}

// stated are the statements of a feature down to a section.
func (g gatewayLevel) stated(section string, f *Feature) []statements {
	feature := f.Name
	if f.EachLevel && section != "" {
		return []statements{at(g.own, section, LevelListener, feature)}
	}
	list := []statements{at(g.class, "", LevelClass, feature), at(g.own, "", LevelGateway, feature)}
	if section != "" {
		list = append(list, at(g.own, section, LevelListener, feature))
	}
	return list
}

// concerned are the features that are rendered at a section: those that it states, and their groups.
func (g gatewayLevel) concerned(section string) (list []*Feature) {
	for _, f := range g.kind.Features {
		if !f.Levels.Has(atRule) || slices.Contains(list, f) {
			continue
		}
		stated := g.stated(section, f)
		if section == "" && empty(stated) || section != "" && len(stated[len(stated)-1].List) == 0 {
			continue
		}
		for _, other := range g.kind.together(f) {
			if !slices.Contains(list, other) && !empty(g.stated(section, other)) {
				list = append(list, other)
			}
		}
	}
	return list
}

func empty(list []statements) bool {
	return !slices.ContainsFunc(list, func(s statements) bool { return len(s.List) > 0 })
}

// emitLevels emits what one kind is at a Gateway and at its listeners.
func (m *Meaning) emitLevels(c *flow.Ctx, g gatewayLevel, emit func(LevelKey, level)) {
	broad, held := map[string]Piece{}, []string(nil)
	var setters []setter // of the Gateway: they hold at its listeners whatever these state
	for _, section := range append([]string{""}, named(sections(g.own))...) {
		scope := m.scope(c, g.kind, g.dataPlane)
		scope.where = placeOf(g.ref, section)
		for _, f := range g.concerned(section) {
			scope.add(f, g.stated(section, f))
		}
		index := level{}
		for _, f := range scope.features {
			piece := scope.piece(f, broad[f.Name].Rendered.Settings)
			if section == "" {
				broad[f.Name] = piece
			}
			if len(piece.Rendered.Fields) > 0 {
				index.Inherits = append(index.Inherits, f.Name)
			}
			if overridden(scope.stated[f.Name]) {
				index.Holds = append(index.Holds, f.Name)
			}
			index.anew(f.Name, piece)
			index.headers(f.Name, piece)
			if f.Agents != nil {
				index.Agents = append(index.Agents, f.Name)
			}
			emit(LevelKey{g.ref, section, g.kind.Kind, f.Name}, level{Stated: scope.stated[f.Name], Piece: piece})
		}
		if section != "" {
			for name, piece := range broad {
				if scope.has(name) {
					continue
				}
				if len(piece.Rendered.Fields) > 0 && !slices.Contains(index.Inherits, name) {
					index.Inherits = append(index.Inherits, name)
				}
				index.anew(name, piece)
				index.reads(name, piece)
				if g.kind.Of(name).Agents != nil {
					index.Agents = append(index.Agents, name)
				}
			}
			slices.Sort(index.Inherits)
			slices.Sort(index.AnewGRPC)
			slices.Sort(index.Anew)
			slices.Sort(index.Agents)
			slices.SortFunc(index.Readers, headerReads.compare)
			index.Setters = append(index.Setters, setters...)
			for _, name := range held {
				if !slices.Contains(index.Holds, name) {
					index.Holds = append(index.Holds, name)
				}
			}
		}
		if section == "" {
			held, setters = index.Holds, index.Setters
		}
		emit(LevelKey{g.ref, section, g.kind.Kind, ""}, index)
	}
}

// anew notes which rules read a feature once more.
func (l *level) anew(feature string, p Piece) {
	switch p.Anew {
	case extend.AnewGRPC:
		l.AnewGRPC = append(l.AnewGRPC, feature)
	case extend.AnewAll:
		l.Anew = append(l.Anew, feature)
	}
}

// named are the names that are not empty.
func named(sections []string) []string {
	return slices.DeleteFunc(sections, func(s string) bool { return s == "" })
}

// overridden tells whether one of the statements is an override.
func overridden(list []statements) bool {
	return slices.ContainsFunc(list, func(l statements) bool {
		return slices.ContainsFunc(l.List, func(s statement) bool { return s.Override })
	})
}
