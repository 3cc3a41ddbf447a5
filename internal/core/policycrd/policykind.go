package policycrd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// Declared is a kind of policy with its features.
type Declared struct {
	extend.Kind
	Declaration *kind.Kind
	Features    []*extend.Declared // by name
	// CRD is the CustomResourceDefinition, in YAML.
	CRD []byte
}

// Of makes the kinds that plugins declare, as New does.
func Of(plugins []extend.Plugin) ([]*Declared, error) {
	var kinds []extend.Kind
	var features []*extend.Declared
	for _, p := range plugins {
		if p.Kind != nil {
			kinds = append(kinds, *p.Kind)
		}
		if p.Feature != nil {
			features = append(features, p.Feature)
		}
	}
	return New(kinds, features)
}

// New makes the kinds that have features, in the order of kinds. An error names all mistakes of the declarations.
func New(kinds []extend.Kind, features []*extend.Declared) ([]*Declared, error) {
	var wrong []error
	var list []*Declared
	byName := map[string]*Declared{}
	for _, k := range kinds {
		d := &Declared{Kind: k}
		name := k.Name + "." + k.Group
		if err := checkKind(k); err != nil {
			wrong = append(wrong, err)
		}
		if byName[name] != nil {
			wrong = append(wrong, fmt.Errorf("the kind %s is declared twice", name))
			continue
		}
		byName[name] = d
		list = append(list, d)
	}
	for _, f := range features {
		name := f.Kind
		if !strings.Contains(name, ".") {
			name += "." + group
		}
		if d := byName[name]; d != nil {
			d.Features = append(d.Features, f)
		} else {
			wrong = append(wrong, fmt.Errorf("the feature %s is of the kind %q, which nobody declared", f.Name, f.Kind))
		}
	}
	for _, d := range list {
		if d.As != nil {
			d.counts(byName)
		}
	}
	list = slices.DeleteFunc(list, func(d *Declared) bool { return len(d.Features) == 0 })
	for _, d := range list {
		slices.SortFunc(d.Features, func(a, b *extend.Declared) int { return cmp.Compare(a.Name, b.Name) })
		if err := d.assemble(); err != nil {
			wrong = append(wrong, err)
		}
	}
	return list, errors.Join(wrong...)
}

// as is the kind that one counts as.
func (d *Declared) as() model.Kind {
	name, own, _ := strings.Cut(d.As.Kind, ".")
	return model.KindOf(cmp.Or(own, group), name)
}

// counts gives a kind the features of the one that it counts as.
func (d *Declared) counts(byName map[string]*Declared) {
	as := d.as()
	if as := byName[as.String()+"."+as.Group()]; as != nil {
		d.Features, d.Kind.Features = as.Features, as.Kind.Features
	}
}

func checkKind(k extend.Kind) error {
	if k.Name == "" || k.Plural == "" || k.Version == "" || !strings.Contains(k.Group, ".") {
		return fmt.Errorf("the kind %q of group %q has no name, plural or version, or a group without a domain", k.Name,
			k.Group)
	}
	if k.As == nil && len(targetsOf(k.Features)) == 0 && k.Features != extend.AtExtension {
		return fmt.Errorf("the kind %s.%s has no targets: set Features to AtRule, AtListener, AtBackend or AtExtension",
			k.Name, k.Group)
	}
	return nil
}

func (d *Declared) assemble() error {
	if d.As != nil {
		d.CRD = d.As.Definition
	} else {
		var err error
		if d.CRD, err = d.crd(); err != nil {
			return err
		}
	}
	var older []string
	if d.As != nil {
		older = slices.Collect(maps.Keys(d.As.Older))
	}
	definition, err := kind.ParseDefinition(d.CRD, older...)
	if err != nil {
		return fmt.Errorf("the kind %s: %w", d.Name, err)
	}
	k := definition.Declare()
	k.Content = kind.Custom[input.PolicySpec]()
	k.Optional, k.Many = true, true
	if d.As != nil {
		k.CountsAs, k.Older = d.as(), d.As.Older
	}
	k.Protects = d.protection()
	k.References = d.references
	k.Refers = []model.Kind{model.KindSecret, model.KindConfigMap, model.KindService, model.KindXBackend}
	k.Status = kinds.AncestorStatus(16, kind.StampOf(kinds.StampPolicy))
	if d.As != nil { // its API has the condition by this name
		k.Status.InEntry = append(k.Status.InEntry, string(gatewayv1.GatewayConditionProgrammed))
	}
	k.Columns = d.columns()
	d.Declaration = &k
	return nil
}

// Feature finds one by its name; nil if the kind has none of it.
func (d *Declared) Feature(name string) *extend.Declared {
	i := slices.IndexFunc(d.Features, func(f *extend.Declared) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return d.Features[i]
}

// references lists the objects that the features of a policy name. Targets are none: a policy has no right over them
// that would need a ReferenceGrant, and all objects of their kinds are read.
func (d *Declared) references(from model.ObjectRef, spec any) []kind.Reference {
	r := kind.References{Namespace: from.Namespace()}
	policy := spec.(*input.PolicySpec)
	features := policy.Features
	if d.Feature(extend.Whole) != nil {
		features = []input.FeatureSpec{policy.Whole(extend.Whole)}
	}
	for _, stated := range features {
		f := d.Feature(stated.Name)
		if f == nil || f.Refers == nil {
			continue
		}
		for _, ref := range f.Refers([]byte(stated.JSON)) {
			add(&r, ref)
		}
	}
	return r.List
}

func add(r *kind.References, ref extend.Reference) {
	all := kind.Reference{Keys: kind.AllKeys}
	switch {
	case ref.Secret != nil:
		r.Add(ref.Secret.Group, or(ref.Secret.Kind, "Secret"), ref.Secret.Namespace, ref.Secret.Name, all, model.KindSecret)
	case ref.ConfigMap != nil:
		r.Add(nil, or(nil, "ConfigMap"), nil, gatewayv1.ObjectName(ref.ConfigMap.Name), all, model.KindConfigMap)
	case ref.Entry != nil:
		r.Add(&ref.Entry.Group, &ref.Entry.Kind, ref.Entry.Namespace, ref.Entry.Name, all, model.KindConfigMap,
			model.KindSecret)
	case ref.Backend != nil:
		var to kind.Reference
		if ref.Backend.Port != nil {
			to.Port = *ref.Backend.Port
		}
		r.Add(ref.Backend.Group, or(ref.Backend.Kind, "Service"), ref.Backend.Namespace, ref.Backend.Name, to,
			model.KindService, model.KindXBackend)
	}
}

// or is what is stated, or a default: schemas of features have none.
func or(stated *gatewayv1.Kind, otherwise gatewayv1.Kind) *gatewayv1.Kind {
	if stated == nil {
		return &otherwise
	}
	return stated
}
