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

// PolicyKind is a kind of policy with its features.
type PolicyKind struct {
	extend.Kind
	Declaration *kind.Kind
	Features    []*extend.UntypedFeature // by name
	// CRD is the CustomResourceDefinition, in YAML.
	CRD []byte

	objects []*kind.Kind // the kinds of routes and backends that there are
}

// FromPlugins makes the kinds that plugins declare, as New does. more are kinds of routes and
// backends that are not Cardea's own.
func FromPlugins(plugins []extend.Plugin, more ...*kind.Kind) ([]*PolicyKind, error) {
	var kinds []extend.Kind
	var features []*extend.UntypedFeature
	for _, p := range plugins {
		if p.Kind != nil {
			kinds = append(kinds, *p.Kind)
		}
		if p.Feature != nil {
			features = append(features, p.Feature)
		}
	}
	return New(kinds, features, more...)
}

// New makes the kinds that have features, in the order of declared. An error names all mistakes of the declarations.
func New(declared []extend.Kind, features []*extend.UntypedFeature, more ...*kind.Kind) ([]*PolicyKind, error) {
	objects := append(ownObjects(), more...)
	var wrong []error
	var list []*PolicyKind
	byName := map[string]*PolicyKind{}
	for _, k := range declared {
		d := &PolicyKind{Kind: k, objects: objects}
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
			wrong = append(wrong, fmt.Errorf("the feature %s is of the kind %q, which is not declared", f.Name, f.Kind))
		}
	}
	for _, d := range list {
		if d.CountsAs != nil {
			d.adoptFeatures(byName)
		}
	}
	list = slices.DeleteFunc(list, func(d *PolicyKind) bool { return len(d.Features) == 0 })
	for _, d := range list {
		slices.SortFunc(d.Features, func(a, b *extend.UntypedFeature) int { return cmp.Compare(a.Name, b.Name) })
		if err := d.buildKind(); err != nil {
			wrong = append(wrong, err)
		}
	}
	return list, errors.Join(wrong...)
}

// countedKind is the kind that one counts as.
func (d *PolicyKind) countedKind() model.Kind {
	name, own, _ := strings.Cut(d.CountsAs.Kind, ".")
	return model.KindOf(cmp.Or(own, group), name)
}

// adoptFeatures gives a kind the features of the one that it counts as.
func (d *PolicyKind) adoptFeatures(byName map[string]*PolicyKind) {
	as := d.countedKind()
	if as := byName[as.String()+"."+as.Group()]; as != nil {
		d.Features, d.Kind.Features = as.Features, as.Kind.Features
	}
}

func checkKind(k extend.Kind) error {
	if k.Name == "" || k.Plural == "" || k.Version == "" || !strings.Contains(k.Group, ".") {
		return fmt.Errorf("the kind %q of group %q has no name, plural or version, or a group without a domain", k.Name,
			k.Group)
	}
	if k.CountsAs == nil && len(targetsOf(k.Features, ownObjects())) == 0 && k.Features != extend.AtExtension {
		return fmt.Errorf("the kind %s.%s has no targets: set Features to AtRule, AtListener, AtBackend or AtExtension",
			k.Name, k.Group)
	}
	return nil
}

func (d *PolicyKind) buildKind() error {
	if d.CountsAs != nil {
		d.CRD = d.CountsAs.Definition
	} else {
		var err error
		if d.CRD, err = d.buildCRD(); err != nil {
			return err
		}
	}
	var older []string
	if d.CountsAs != nil {
		older = slices.Collect(maps.Keys(d.CountsAs.OlderVersions))
	}
	definition, err := kind.ParseDefinition(d.CRD, older...)
	if err != nil {
		return fmt.Errorf("the kind %s: %w", d.Name, err)
	}
	k := definition.NewKind()
	k.Content = kind.CustomContent[input.PolicySpec]()
	k.Optional, k.Cacheable = true, true
	if d.CountsAs != nil {
		k.CountsAs, k.OlderVersions = d.countedKind(), d.CountsAs.OlderVersions
	}
	k.Protects = d.newProtection()
	k.References = d.listReferences
	k.RefersTo = append([]model.Kind{model.KindSecret, model.KindConfigMap}, d.asked()...)
	k.Status = kinds.AncestorStatus(16, kind.StampOf(kinds.StampPolicy))
	if d.CountsAs != nil { // its API has the condition by this name
		k.Status.InEntry = append(k.Status.InEntry, string(gatewayv1.GatewayConditionProgrammed))
	}
	k.Columns = d.printColumns()
	d.Declaration = &k
	return nil
}

// Feature finds one by its name; nil if the kind has none of it.
func (d *PolicyKind) Feature(name string) *extend.UntypedFeature {
	i := slices.IndexFunc(d.Features, func(f *extend.UntypedFeature) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return d.Features[i]
}

// listReferences lists the objects that the features of a policy name. Targets are none: a policy has no right over
// them that would need a ReferenceGrant, and all objects of their kinds are read.
func (d *PolicyKind) listReferences(from model.ObjectRef, spec any) []kind.Reference {
	r := kind.References{Namespace: from.Namespace()}
	policy := spec.(*input.PolicySpec)
	features := policy.Features
	if d.Feature(extend.Whole) != nil {
		features = []input.FeatureSpec{policy.AsFeature(extend.Whole)}
	}
	for _, stated := range features {
		f := d.Feature(stated.Name)
		if f == nil || f.Refers == nil {
			continue
		}
		for _, ref := range f.Refers([]byte(stated.JSON)) {
			d.add(&r, ref)
		}
	}
	return r.List
}

// asked are the kinds of backends that features can name as servers to ask.
func (d *PolicyKind) asked() (list []model.Kind) {
	for _, b := range d.objects {
		if b.Backend != nil && b.Backend.Asked {
			list = append(list, b.Kind)
		}
	}
	return list
}

func (d *PolicyKind) add(r *kind.References, ref extend.Reference) {
	all := kind.Reference{Keys: kind.AllKeys}
	switch {
	case ref.Secret != nil:
		r.Add(ref.Secret.Group, orDefaultKind(ref.Secret.Kind, "Secret"), ref.Secret.Namespace, ref.Secret.Name, all,
			model.KindSecret)
	case ref.ConfigMap != nil:
		r.Add(nil, orDefaultKind(nil, "ConfigMap"), nil, gatewayv1.ObjectName(ref.ConfigMap.Name), all, model.KindConfigMap)
	case ref.Entry != nil:
		r.Add(&ref.Entry.Group, &ref.Entry.Kind, ref.Entry.Namespace, ref.Entry.Name, all, model.KindConfigMap,
			model.KindSecret)
	case ref.Backend != nil:
		var to kind.Reference
		if ref.Backend.Port != nil {
			to.Port = *ref.Backend.Port
		}
		r.Add(ref.Backend.Group, orDefaultKind(ref.Backend.Kind, "Service"), ref.Backend.Namespace, ref.Backend.Name, to,
			d.asked()...)
	}
}

// orDefaultKind is what is stated, or a default: schemas of features have none.
func orDefaultKind(stated *gatewayv1.Kind, otherwise gatewayv1.Kind) *gatewayv1.Kind {
	if stated == nil {
		return &otherwise
	}
	return stated
}
