package policy

import (
	"maps"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy/merge"
)

// Target is what a policy is attached to: an object, or a section of it.
type Target struct {
	Object  model.ObjectRef
	Section string
}

// Store is all policies, by what they target.
type Store struct {
	Kinds []Kind

	in       *kinds.Sources
	countsAs map[model.Kind]model.Kind // kinds that count as others
	policies *flow.Collection[model.ObjectRef, *policy]
	attached *flow.Collection[attachedKey, attachedPolicies]
	byTarget *flow.Collection[model.ObjectRef, attachedPolicies] // objects that policies target
	// selected is what each policy selects.
	selected *flow.Collection[model.ObjectRef, attachedPolicies]
	// xbackendsByPort are the XBackends of a Service's port.
	xbackendsByPort *flow.Collection[model.BackendKey, xbackendsOfPort]
	// servers are the policies on XBackends, by namespace.
	servers        *flow.Collection[serversKey, attachedPolicies]
	routesByPolicy *routesByPolicy
	names          elementNames
}

// Kind is a kind of policy, with its features.
type Kind struct {
	Kind     model.Kind
	Features []*Feature       // by name
	protects *kind.Protection // nil: nothing
}

// Feature is a feature that can be merged.
type Feature struct {
	*extend.UntypedFeature
	merge *merge.Type
}

// FindFeature finds a feature; nil: the kind has none of that name.
func (k Kind) FindFeature(name string) *Feature {
	for _, f := range k.Features {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// featureGroup are the features that are rendered together with one, itself among them.
func (k Kind) featureGroup(f *Feature) (list []*Feature) {
	for _, other := range k.Features {
		if other == f || f.Group != "" && other.Group == f.Group {
			list = append(list, other)
		}
	}
	return list
}

// policy is what one policy says. All collections share one value.
type policy struct {
	UID        string
	Generation int64
	Age        string // the older is the lesser
	Override   bool
	Targets    []Target // that it names
	Selectors  []selector
	Disable    []string // as it is stated
	Off        []string // the features that Disable turns off
	Features   []input.FeatureSpec
	// ClosedReason is why it can't be read, so that all that it is for is closed; "": it can.
	ClosedReason string
}

// attachmentKey names a policy at a target.
type attachmentKey struct {
	Policy model.ObjectRef
	Target Target
}

// Owner is the policy.
func (k attachmentKey) Owner() model.ObjectRef { return k.Policy }

// attachedKey names the policies of a kind on an object and its sections.
type attachedKey struct {
	Object model.ObjectRef
	Kind   model.Kind
}

// NewStore reads policies. declared are the features of all kinds; a kind without features is not read. namespace is
// the program's own. Only policies of this namespace may target GatewayClasses; "": policies of any may.
func NewStore(in *kinds.Sources, declared []*extend.UntypedFeature, namespace string) (*Store, error) {
	s := &Store{in: in, countsAs: map[model.Kind]model.Kind{}}
	for _, k := range in.Catalog.All() {
		kind := Kind{Kind: k.Kind}
		for _, d := range declared {
			if k.QualifiedName() == d.Kind {
				t, err := merge.New(d.Schema)
				if err != nil {
					return nil, err
				}
				kind.Features = append(kind.Features, &Feature{d, t})
			}
		}
		if len(kind.Features) > 0 {
			if err := kind.addClosing(k); err != nil {
				return nil, err
			}
			slices.SortFunc(kind.Features, func(a, b *Feature) int { return strings.Compare(a.Name, b.Name) })
			s.Kinds = append(s.Kinds, kind)
		}
	}
	if len(s.Kinds) == 0 {
		return s, nil
	}
	for _, k := range in.Catalog.All() {
		if _, known := s.FindKind(k.CountsAs); known {
			s.countsAs[k.Kind] = k.CountsAs
		}
	}
	var inputs []flow.Input[model.ObjectRef, *policy]
	for _, k := range s.allKinds() {
		kind, _ := s.FindKind(k)
		inputs = append(inputs, flow.From(s.specsOf(k), kind.readPolicy))
	}
	inputs = append(inputs, flow.From(in.Closed.Collection(), s.closedPolicy))
	s.policies = flow.Merge("policy", inputs[0], inputs[1:]...)
	named := flow.Derive(s.policies, "policy/named",
		func(_ *flow.Ctx, ref model.ObjectRef, p *policy, emit func(attachmentKey, *policy)) {
			seen := map[Target]bool{}
			for _, t := range p.Targets {
				if !seen[t] && (t.Object.Kind() != model.KindGatewayClass || namespace == "" || ref.Namespace() == namespace) {
					seen[t] = true
					emit(attachmentKey{ref, t}, p)
				}
			}
		})
	selected := s.selectedTargets()
	s.selected = flow.Group(selected, "policy/selected-by-policy", func(k attachmentKey, _ *policy) []model.ObjectRef {
		return []model.ObjectRef{k.Policy}
	}, flow.ByKey)
	itself := func(_ *flow.Ctx, _ attachmentKey, p *policy) (*policy, bool) { return p, true }
	attachments := flow.Merge("policy/attachment", flow.From(named, itself), flow.From(selected, itself))
	s.attached = flow.Group(attachments, "policy/attached", func(k attachmentKey, _ *policy) []attachedKey {
		kind, _ := s.FindKind(k.Policy.Kind())
		return []attachedKey{{k.Target.Object, kind.Kind}}
	}, func(k attachmentKey, p *policy) string { return p.Age + " " + k.Policy.NamespacedName() })
	s.byTarget = flow.Group(attachments, "policy/touched", func(k attachmentKey, _ *policy) []model.ObjectRef {
		return []model.ObjectRef{k.Target.Object}
	}, flow.ByKey)
	s.servers, s.xbackendsByPort = s.newServers(attachments), newXBackendsByPort(in)
	s.routesByPolicy, s.names = s.newRoutesByPolicy(in), s.newElementNames()
	return s, nil
}

// allKinds are the kinds of policies, and those that count as one of them.
func (s *Store) allKinds() (list []model.Kind) {
	for _, k := range s.Kinds {
		list = append(list, k.Kind)
	}
	return append(list, slices.SortedFunc(maps.Keys(s.countsAs), model.Kind.Compare)...)
}

// FindKind finds a kind of policies, or the one that a kind counts as; false: there is none.
func (s *Store) FindKind(kind model.Kind) (Kind, bool) {
	if as, counts := s.countsAs[kind]; counts {
		kind = as
	}
	i := slices.IndexFunc(s.Kinds, func(k Kind) bool { return k.Kind == kind })
	if i < 0 {
		return Kind{}, false
	}
	return s.Kinds[i], true
}

// isForeign tells whether a kind is one of another API, which counts as a kind of Cardea.
func (s *Store) isForeign(kind model.Kind) bool {
	_, counts := s.countsAs[kind]
	return counts
}

// specsOf are the policies of a kind as they are stated.
func (s *Store) specsOf(kind model.Kind) *input.Collection[input.PolicySpec] {
	return input.SourceOf[input.PolicySpec](s.in.Sources, kind).Collection()
}

func (k Kind) readPolicy(_ *flow.Ctx, ref model.ObjectRef, o input.Object[input.PolicySpec]) (*policy, bool) {
	p := &policy{
		UID: o.Meta.UID, Generation: o.Meta.Generation, Age: ageOrder(o.Meta.Created),
		Override: o.Spec.Strategy == input.PatchOverrides, Disable: o.Spec.Disable, Features: o.Spec.Features,
		Off:       k.expandDisabled(o.Spec.Disable),
		Selectors: readSelectors(o.Spec.TargetSelectors),
	}
	if k.FindFeature(extend.Whole) != nil {
		p.Features = []input.FeatureSpec{o.Spec.AsFeature(extend.Whole)}
	} else if why := k.unreadableReason(o.Spec); why != "" {
		p.closeTargets(k, why)
	}
	for _, t := range o.Spec.TargetRefs {
		target := Target{Object: model.Ref(model.KindOf(string(t.Group), string(t.Kind)), ref.Namespace(), string(t.Name))}
		if target.Object.Kind() == model.KindGatewayClass {
			target.Object = model.Ref(model.KindGatewayClass, "", string(t.Name))
		}
		if t.SectionName != nil {
			target.Section = string(*t.SectionName)
		}
		p.Targets = append(p.Targets, target)
	}
	return p, true
}

// ageOrder orders by time of creation; what has none is younger than all that have one.
func ageOrder(created time.Time) string {
	if created.IsZero() {
		return "~"
	}
	return created.UTC().Format("20060102150405.000000000")
}

// statesFeature tells whether the policy says anything of a feature.
func (p *policy) statesFeature(feature string) bool {
	_, stated := p.featureSpec(feature)
	return stated || slices.Contains(p.Off, feature)
}

func (p *policy) featureSpec(feature string) (string, bool) {
	for _, f := range p.Features {
		if f.Name == feature {
			return f.JSON, true
		}
	}
	return "", false
}

// newStatement is what a policy states of a feature at a level.
func (p *policy) newStatement(ref model.ObjectRef, level Level, feature string) statement {
	json, _ := p.featureSpec(feature)
	return statement{
		Source: Source{ref, level, p.Override}, JSON: json, Disable: slices.Contains(p.Off, feature),
		DisabledWithOther: !slices.Contains(p.Disable, feature),
		Unreadable:        p.ClosedReason != "",
	}
}

// attachedPolicies are the policies of a kind on an object, the oldest first.
type attachedPolicies = flow.Members[attachmentKey, *policy]

// policiesOn are the policies of a kind on an object and its sections.
func (s *Store) policiesOn(c *flow.Ctx, object model.ObjectRef, kind model.Kind) attachedPolicies {
	m, _ := flow.Fetch(c, s.attached, attachedKey{object, kind})
	return m
}

// statementsAt are the statements of a feature at a target.
func statementsAt(m attachedPolicies, section string, level Level, feature string) statements {
	found := statements{Level: level}
	for k, p := range m.All() {
		if k.Target.Section == section && p.statesFeature(feature) {
			found.List = append(found.List, p.newStatement(k.Policy, level, feature))
		}
	}
	return found
}

// statedSections are those of an object for which policies state something, sorted; "" is the object as a whole.
func statedSections(list ...attachedPolicies) (names []string) {
	for _, m := range list {
		for k := range m.All() {
			names = append(names, k.Target.Section)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ForRules tells whether some of the kind's features are stated for requests, be it only by objects that rules
// name.
func (k Kind) ForRules() bool { return slices.ContainsFunc(k.Features, (*Feature).forRules) }

// AtRule tells whether some of the kind's features are stated for requests.
func (k Kind) AtRule() bool { return k.hasLevels(atRule) }

// hasLevels tells whether some of the kind's features are stated at levels.
func (k Kind) hasLevels(levels extend.Levels) bool {
	return slices.ContainsFunc(k.Features, func(f *Feature) bool { return f.Levels.Has(levels) })
}

// HasPolicy tells whether there is a policy.
func (s *Store) HasPolicy(c *flow.Ctx, ref model.ObjectRef) bool {
	_, found := flow.Fetch(c, s.policies, ref)
	return found
}
