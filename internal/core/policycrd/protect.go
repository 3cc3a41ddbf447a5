package policycrd

import (
	"maps"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// newProtection says what is closed while a policy of the kind can't be read; nil: nothing is. Policies without targets
// count where rules name them: a rule that names one that is not there is refused.
func (d *PolicyKind) newProtection() *kind.Protection {
	whole := d.Feature(extend.Whole)
	features := d.Kind.Features
	p := &kind.Protection{Protects: d.protectsTargets, TargetsOptional: d.CountsAs == nil, Closed: closedWords(features,
		whole)}
	for _, t := range d.Targets() {
		p.Targets = append(p.Targets, t.Kind)
	}
	// Routes for connections can be no target, but whoever names one means to protect it.
	for _, k := range d.objects {
		if d.Kind.Features.Has(extend.AtRule) && k.Route != nil && !k.Route.ForHTTP() {
			p.Targets = append(p.Targets, k.Kind)
		}
	}
	if len(p.Targets) == 0 || whole == nil && !d.protectsTargets(nil) {
		return nil
	}
	p.Fields = sharedFieldNames()
	for _, f := range d.Features {
		p.Fields = append(p.Fields, f.Name)
	}
	if whole != nil {
		p.Protects = func(spec map[string]any) bool {
			return d.CountsAs != nil || !whole.Unmerged.IsHarmless(spec)
		}
		p.Fields = append(p.Fields, fieldsOf(whole)...)
		p.ClosesDespiteLastGood = true
	}
	p.Fields = append(p.Fields, input.ExtensionsField)
	p.MatchesMissingKind = d.Group == group && d.Name == extend.SecurityPolicy
	return p
}

func closedWords(features extend.Levels, whole *extend.UntypedFeature) string {
	switch {
	case whole != nil:
		return "refuses every request"
	case features&(extend.AtListener|extend.AtPort) != 0:
		return "closes its connections"
	case features.Has(extend.AtBackend):
		return "gets no requests"
	}
	return "answers 500"
}

// fieldsOf are the fields of a feature that is all that its kind states.
func fieldsOf(f *extend.UntypedFeature) []string {
	fields, _ := parseSchema(f.Schema)["properties"].(schema)
	return slices.Sorted(maps.Keys(fields))
}

// protectsTargets tells whether a policy with this spec protects what it is for. A field that is misspelt counts as the
// one that it is near to; one that is near to none may have been meant as any, such as throttle for rateLimits.
func (d *PolicyKind) protectsTargets(spec map[string]any) bool {
	if d.Kind.Protects {
		return true
	}
	if spec == nil {
		return slices.ContainsFunc(d.Features, func(f *extend.UntypedFeature) bool { return f.Protects })
	}
	strangers, _ := spec[input.ExtensionsField].(map[string]any)
	for name := range spec {
		if f, known := d.nearestFeature(name); !known || f != nil && f.Protects {
			return true
		}
	}
	for name := range strangers {
		if f, _ := d.nearestFeature(name); f != nil && f.Protects {
			return true
		}
	}
	return false
}

// nearestFeature is the feature that a field names, or nearly does; nil: none. known tells whether the field is, or is
// near to, any field of a spec.
func (d *PolicyKind) nearestFeature(field string) (f *extend.UntypedFeature, known bool) {
	if f := d.Feature(field); f != nil {
		return f, true
	}
	names := append(sharedFieldNames(), input.ExtensionsField)
	if slices.Contains(names, field) {
		return nil, true
	}
	for _, f := range d.Features {
		names = append(names, f.Name)
	}
	near := model.NearestName(field, names)
	return d.Feature(near), near != ""
}
