package envoy

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// unsupported gathers by route what could not be rendered as it is written.
func (s stages) unsupported() *flow.Collection[model.ObjectRef, []model.Finding] {
	failed := flow.Group(s.fragments, "envoy/unsupported-rules", func(k model.RuleKey, f fragment) []model.ObjectRef {
		if len(f.Problems) == 0 {
			return nil
		}
		return []model.ObjectRef{k.Route}
	}, byKey)
	return flow.Map(failed, "envoy/unsupported",
		func(_ *flow.Ctx, route model.ObjectRef, rules flow.Members[model.RuleKey, fragment]) ([]model.Finding, bool) {
			var findings []model.Finding
			for k, f := range rules.All() {
				for _, problem := range f.Problems {
					findings = append(findings, model.Finding{
						Object:    route,
						Section:   k.Name,
						Severity:  model.Error,
						Condition: "Accepted",
						Reason:    "UnsupportedValue",
						Drops:     true,
						Message:   "Envoy can't serve this rule, its requests get 500: " + problem,
					})
				}
			}
			return findings, true
		})
}
