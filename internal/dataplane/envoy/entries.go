package envoy

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// refusedEntries are the entries of filters that keep state that a proxy refused, with what it said. They are left out,
// and a limit lets pass what names an entry that it does not have. So what names one is closed.
func refusedEntries(
	s plan.Settings, refused *flow.Collection[resource.RefusalKey, resource.Refusal],
) *flow.Collection[plan.SharedKey, string] {
	if s.Shared == nil {
		return nil
	}
	return flow.Map(s.Shared, "envoy/refused-entries",
		func(c *flow.Ctx, k plan.SharedKey, entry plan.SharedEntry) (string, bool) {
			said, found := flow.Fetch(c, refused, refusalKey(k.Gateway, entryPart(k, entry).Fragments[0]))
			return fmt.Sprintf("%s: %s", entry.From, said.Message), found
		})
}

// refusedEntry is what a proxy said when it refused one of these entries; "" if none was refused there. The keys lack
// the Gateway.
func (s stages) refusedEntry(c *flow.Ctx, gateway model.ObjectRef, entries []plan.SharedKey) string {
	for _, k := range entries {
		k.Gateway = gateway
		if said := fetch(c, s.entries, k); said != "" {
			return said
		}
	}
	return ""
}

// entriesOf are those that settings name, without their Gateway.
func entriesOf(settings ...plan.Setting) (entries []plan.SharedKey) {
	for _, setting := range settings {
		for _, id := range setting.Entries {
			entries = append(entries, plan.SharedKey{Slot: setting.Slot, ID: id})
		}
	}
	return entries
}

// closed has what answers an error in place of settings that name a refused entry.
func (s stages) closed(c *flow.Ctx, gateway model.ObjectRef, settings []plan.Setting) []plan.Setting {
	settings = slices.Clone(settings)
	for i, setting := range settings {
		if s.refusedEntry(c, gateway, entriesOf(setting)) != "" {
			settings[i] = httpfilters.Closed(setting)
		}
	}
	return settings
}

// closedRule is a rule with its refused settings closed.
func (s stages) closedRule(c *flow.Ctx, gateway model.ObjectRef, r statedRule) statedRule {
	r.Settings, r.Nearer = s.closed(c, gateway, r.Settings), slices.Clone(r.Nearer)
	for i := range r.Nearer {
		r.Nearer[i] = s.closed(c, gateway, r.Nearer[i])
	}
	return r
}
