package policy

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// expandDisabled are the features that are turned off by the names of some, themselves among them.
func (k Kind) expandDisabled(disabled []string) []string {
	all := disabled
	for _, f := range k.Features {
		if f.DisabledWith != "" && slices.Contains(disabled, f.DisabledWith) && !slices.Contains(all, f.Name) {
			all = append(slices.Clip(all), f.Name)
		}
	}
	return all
}

// TurnsOffNothing tells whether the feature is turned off with another one, and no broader policy states it.
func (e Effective) TurnsOffNothing() bool {
	return e.JSON == "" && e.DisabledWithOther && len(e.Superseded) == 0
}

// offNothing are the findings on names that a policy disables, and that nothing broader states anywhere it counts. An
// override keeps features off that narrower policies may state some day.
func (r reporter) offNothing(c *flow.Ctx, ref model.ObjectRef, p *policy) (list []model.Finding) {
	if len(p.Disable) == 0 || p.Override {
		return nil
	}
	members, _ := flow.Fetch(c, r.placeReports, ref)
	if members.Len() == 0 {
		return nil // it counts nowhere, which is told
	}
	off := map[string]bool{}
	for _, t := range members.All() {
		for _, l := range t.Superseded {
			// Or an override keeps it on, which is told.
			off[l.Feature] = off[l.Feature] || l.By.Policy == ref || l.From.Policy == ref && l.Value == supersededOff
		}
	}
	kind, _ := r.Store.FindKind(ref.Kind())
	for _, name := range p.Disable {
		f := kind.FindFeature(name)
		if f == nil || f.Off != nil || slices.ContainsFunc(kind.expandDisabled([]string{name}),
			func(n string) bool { return off[n] }) {
			continue
		}
		list = append(list, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.disable", Message: fmt.Sprintf(
				"%s turns nothing off: no broader policy states %s where this one applies; remove it, or name a feature that "+
					"is stated",
				name, strings.Join(kind.expandDisabled([]string{name}), " or ")),
		})
	}
	return list
}
