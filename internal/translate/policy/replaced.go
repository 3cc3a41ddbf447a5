package policy

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// AddReplaced adds, to the policies that target a route, what overrides of policies replace of the fields that its
// rules state themselves.
func (m *Translator) AddReplaced(
	c *flow.Ctx, ref model.ObjectRef, rules []model.Rule, targeting []conditions.Affected,
) (list []conditions.Affected) {
	if m.Routes == nil {
		return targeting
	}
	replaced := map[model.Kind][]string{}
	pieces, _ := flow.Fetch(c, m.Routes, ref)
	for key, p := range pieces.allPieces() {
		i := slices.IndexFunc(rules, func(r model.Rule) bool { return r.Key == key })
		for _, l := range p.Superseded {
			if i < 0 || l.From.Level != LevelOwn || !l.By.Override {
				continue
			}
			if text := p.describeReplaced(rules[i].FieldPath(), l); !slices.Contains(replaced[p.Kind], text) {
				replaced[p.Kind] = append(replaced[p.Kind], text)
			}
		}
	}
	if len(replaced) == 0 {
		return targeting
	}
	for _, k := range m.Store.Kinds {
		of := conditions.Affected{Kind: k.Kind.String(), Replaced: replaced[k.Kind]}
		if i := slices.IndexFunc(targeting, func(a conditions.Affected) bool { return a.Kind == of.Kind }); i >= 0 {
			of.Policies = targeting[i].Policies
		}
		if len(of.Policies)+len(of.Replaced) > 0 {
			list = append(list, of)
		}
	}
	return list
}

// describeReplaced is "spec.rules[0].timeouts.request: 30s replaced by 5s of infra/floor", without values that are no
// single ones.
func (p RulePiece) describeReplaced(rule string, l SupersededField) string {
	field, by := rule+"."+FieldPath(p.Feature, l.Path), l.By.Policy.NamespacedName()
	i := slices.IndexFunc(p.Fields, func(f EffectiveField) bool { return f.Path == l.Path })
	switch {
	case p.JSON == "":
		return fmt.Sprintf("%s turned off by %s", field, by)
	case i < 0 || strings.ContainsAny(l.Value+p.Fields[i].Value, "{["):
		return fmt.Sprintf("%s replaced by that of %s", field, by)
	}
	return fmt.Sprintf("%s: %s replaced by %s of %s", field, trimQuotes(l.Value), trimQuotes(p.Fields[i].Value), by)
}

func trimQuotes(value string) string { return strings.Trim(value, `"`) }
