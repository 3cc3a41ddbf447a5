package policy

import (
	"slices"

	"cardea.dev/cardea/internal/conditions"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Affecting are the policies that target an object itself, or a section of it; whole: whatever the section.
func (m *Meaning) Affecting(
	c *flow.Ctx, object model.ObjectRef, section string, whole bool,
) (list []conditions.Affected) {
	if m.Store.touched == nil {
		return nil
	}
	members, touched := flow.Fetch(c, m.Store.touched, object)
	if !touched {
		return nil
	}
	names := map[model.Kind][]string{}
	for k := range members.All() {
		if whole || k.Target.Section == section {
			names[k.Policy.Kind()] = append(names[k.Policy.Kind()], k.Policy.NamespacedName())
		}
	}
	for _, k := range m.Store.Kinds {
		if all := names[k.Kind]; len(all) > 0 {
			slices.Sort(all)
			list = append(list, conditions.Affected{Kind: k.Kind.String(), Policies: slices.Compact(all)})
		}
	}
	return list
}
