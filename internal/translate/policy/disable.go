package policy

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// off are the features that are turned off by the names of some, themselves among them.
func (k Kind) off(disabled []string) []string {
	all := disabled
	for _, f := range k.Features {
		if f.DisabledWith != "" && slices.Contains(disabled, f.DisabledWith) && !slices.Contains(all, f.Name) {
			all = append(slices.Clip(all), f.Name)
		}
	}
	return all
}

// TurnsOffNothing tells whether the feature is turned off with another one, and no broader policy states it.
func (e Effective) TurnsOffNothing() bool { return e.JSON == "" && e.With && len(e.Lost) == 0 }

// offNothing are the findings on names that a policy disables, and that nothing broader states anywhere it counts. An
// override keeps features off that narrower policies may state some day.
func (r reporter) offNothing(c *flow.Ctx, ref model.ObjectRef, p *policy) (list []model.Finding) {
	if len(p.Disable) == 0 || p.Override {
		return nil
	}
	members, _ := flow.Fetch(c, r.told, ref)
	if members.Len() == 0 {
		return nil // it counts nowhere, which is told
	}
	off := map[string]bool{}
	for _, t := range members.All() {
		for _, l := range t.Lost {
			// Or an override keeps it on, which is told.
			off[l.Feature] = off[l.Feature] || l.By.Policy == ref || l.From.Policy == ref && l.Value == lostOff
		}
	}
	kind, _ := r.Store.Of(ref.Kind())
	for _, name := range p.Disable {
		f := kind.Of(name)
		if f == nil || f.Off != nil || slices.ContainsFunc(kind.off([]string{name}), func(n string) bool { return off[n] }) {
			continue
		}
		list = append(list, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.disable", Message: fmt.Sprintf(
				"%s turns nothing off: no broader policy states %s where this one counts; take it out, or name what is stated",
				name, strings.Join(kind.off([]string{name}), " or ")),
		})
	}
	return list
}
