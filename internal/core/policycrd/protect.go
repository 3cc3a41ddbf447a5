package policycrd

import (
	"maps"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// protection says what is closed while a policy of the kind can't be read; nil: nothing is. Policies without targets
// count where rules name them: a rule that names one that is not there is refused.
func (d *Declared) protection() *kind.Protection {
	whole := d.Feature(extend.Whole)
	features := d.Kind.Features
	p := &kind.Protection{Of: d.protects, Bare: d.As == nil, Closed: closedWords(features, whole)}
	for _, t := range d.Targets() {
		p.Targets = append(p.Targets, t.Kind)
	}
	if len(p.Targets) == 0 || whole == nil && !d.protects(nil) {
		return nil
	}
	p.Fields = shared()
	for _, f := range d.Features {
		p.Fields = append(p.Fields, f.Name)
	}
	if whole != nil {
		p.Of = func(spec map[string]any) bool {
			return d.As != nil || whole.Harmless == nil || !whole.Harmless(spec)
		}
		p.Fields = append(p.Fields, fieldsOf(whole)...)
		p.Always = true
	}
	p.Fields = append(p.Fields, input.ExtensionsField)
	p.Unnamed = d.Group == group && d.Name == extend.SecurityPolicy
	return p
}

func closedWords(features extend.Levels, whole *extend.Declared) string {
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
func fieldsOf(f *extend.Declared) []string {
	fields, _ := parsed(f.Schema)["properties"].(schema)
	return slices.Sorted(maps.Keys(fields))
}

// protects tells whether a policy with this spec protects what it is for. A field that is misspelt counts as the one
// that it is near to.
func (d *Declared) protects(spec map[string]any) bool {
	if d.Kind.Protects {
		return true
	}
	if spec == nil {
		return slices.ContainsFunc(d.Features, func(f *extend.Declared) bool { return f.Protects })
	}
	strangers, _ := spec[input.ExtensionsField].(map[string]any)
	for _, fields := range []map[string]any{spec, strangers} {
		for name := range fields {
			if f := d.near(name); f != nil && f.Protects {
				return true
			}
		}
	}
	return false
}

// near is the feature that a field names, or nearly does; nil: none.
func (d *Declared) near(field string) *extend.Declared {
	if f := d.Feature(field); f != nil {
		return f
	}
	names := shared()
	for _, f := range d.Features {
		names = append(names, f.Name)
	}
	return d.Feature(model.Nearest(field, names))
}
