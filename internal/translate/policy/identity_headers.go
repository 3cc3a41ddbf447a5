package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// Headers in which backends are told who sent a request (extend.IdentityHeaders) are set after a rule was chosen. So a
// rule that matches on one would be chosen by the client, and is not served. The header of a client is removed where
// the header is set. So the same levels count here: broader ones too, even if a rule turns their features off.

// headerSetter is who sets such a header, and where that is stated.
type headerSetter struct {
	Header string          // in small letters
	By     model.ObjectRef // zero: the route itself
	Field  string
}

func (s headerSetter) String() string {
	if s.By == (model.ObjectRef{}) {
		return s.Field
	}
	return fmt.Sprintf("%s: %s", s.By, s.Field)
}

// headerReads are the headers that a feature depends on before it is known who sent a request.
type headerReads struct {
	Feature string
	Headers []string
}

func (r headerReads) compareFeature(other headerReads) int {
	return strings.Compare(r.Feature, other.Feature)
}

// noteHeaders notes what a piece has to do with headers.
func (l *levelFeature) noteHeaders(feature string, p Piece) {
	l.Setters = append(l.Setters, p.headerSetters()...)
	l.noteReads(feature, p)
}

func (l *levelFeature) noteReads(feature string, p Piece) {
	if len(p.Reads) > 0 {
		l.Readers = append(l.Readers, headerReads{feature, p.Reads})
	}
}

// headerSetters are the headers that a piece sets.
func (p *Piece) headerSetters() (list []headerSetter) {
	for _, name := range p.Sets.AllHeaders() {
		s := headerSetter{Header: name, By: p.attributedPolicy(), Field: fieldOf(p.Feature, "")}
		for _, f := range p.Fields {
			if path, names := namingField(f, name); names && f.From.Policy != (model.ObjectRef{}) {
				s.By, s.Field = f.From.Policy, fieldOf(p.Feature, path)
			}
		}
		list = append(list, s)
	}
	return list
}

// namingField is the path of the field that names a header: the name is its value, or the key of a list's element.
func namingField(f EffectiveField, header string) (path string, names bool) {
	element := "[" + header + "]"
	if i := strings.Index(strings.ToLower(f.Path), element); i >= 0 {
		return f.Path[:i+len(element)], true
	}
	return f.Path, strings.Contains(strings.ToLower(f.Value), strconv.Quote(header))
}

// readersLast are the kinds of atRules; the last ones have features that depend on headers which other kinds set.
func (s *Store) readersLast() []Kind {
	list := s.atRules()
	slices.SortStableFunc(list, func(a, b Kind) int { return a.readsHeaders() - b.readsHeaders() })
	return list
}

func (k Kind) readsHeaders() int {
	if slices.ContainsFunc(k.Features, func(f *Feature) bool { return f.ReadsHeaders }) {
		return 1
	}
	return 0
}

// headerSetters are those of a rule's requests: of broader levels, of pieces, and of the route's own filters.
func (q *routeScope) headerSetters(place model.RouteListener, rule model.Rule, p *RulePieces) (list []headerSetter) {
	for _, kind := range q.m.Store.atRules() {
		r := &ruleScope{routeScope: q, routeListener: place, rule: rule, policyKind: kind}
		list = append(list, r.levelOf("").Setters...)
	}
	return append(list, ownSetters(rule, p)...)
}

// ownSetters are those of a rule's pieces and of the route's own filters.
func ownSetters(rule model.Rule, p *RulePieces) (list []headerSetter) {
	for piece := range p.allPieces() {
		list = append(list, piece.headerSetters()...)
	}
	own := []*model.ExternalAuth{rule.Auth}
	for _, b := range rule.Backends {
		if b.Filters != nil {
			own = append(own, b.Filters.Auth)
		}
	}
	for _, a := range own {
		if a != nil {
			for _, name := range extend.AttestedBy(*a).AllHeaders() {
				list = append(list, headerSetter{Header: name, Field: rule.FieldPath() + ".filters"})
			}
		}
	}
	return list
}

// identityHeaders are the headers of setters of the kinds before.
func (r *ruleScope) identityHeaders() (names []string) {
	for _, s := range r.headerSetters(r.routeListener, r.rule, r.before) {
		names = append(names, s.Header)
	}
	return names
}

// withReaders adds the features that the rule inherits and that depend on a header that others set for it, and those
// that are rendered with them.
func (r *ruleScope) withReaders(stating []*Feature, index levelFeature) []*Feature {
	for _, reader := range index.Readers {
		if extend.ReadOf(reader.Headers, r.identityHeaders()) == "" {
			continue
		}
		for _, f := range r.policyKind.featureGroup(r.policyKind.FindFeature(reader.Feature)) {
			if !slices.Contains(stating, f) {
				stating = append(stating, f)
			}
		}
	}
	return stating
}
