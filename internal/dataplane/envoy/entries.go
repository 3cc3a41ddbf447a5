package envoy

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
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
			said, found := flow.Fetch(c, refused, refusalKeyOf(k.Gateway, entryPart(k, entry).Fragments[0]))
			return fmt.Sprintf("%s: %s", entry.From, said.Message), found
		})
}

// entryRefusal is what a proxy said when it refused one of these entries; "" if none was refused there. The keys lack
// the Gateway.
func (s stages) entryRefusal(c *flow.Ctx, gateway model.ObjectRef, entries []plan.SharedKey) string {
	for _, k := range entries {
		k.Gateway = gateway
		if said := fetchOptional(c, s.refusedEntries, k); said != "" {
			return said
		}
	}
	return ""
}

// closeSettings has what answers an error in place of settings that name a refused entry.
func (s stages) closeSettings(c *flow.Ctx, gateway model.ObjectRef, settings []plan.Setting) []plan.Setting {
	settings = slices.Clone(settings)
	for i, setting := range settings {
		if s.entryRefusal(c, gateway, route.EntryKeysOf(setting)) != "" {
			settings[i] = httpfilters.CloseSetting(setting)
		}
	}
	return settings
}

// closeRuleSettings is a rule with its refused settings closed.
func (s stages) closeRuleSettings(c *flow.Ctx, gateway model.ObjectRef, r route.Rule) route.Rule {
	r.Settings, r.PerBackend = s.closeSettings(c, gateway, r.Settings), slices.Clone(r.PerBackend)
	for i := range r.PerBackend {
		r.PerBackend[i] = s.closeSettings(c, gateway, r.PerBackend[i])
	}
	return r
}
