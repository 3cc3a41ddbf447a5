package envoy

import "cardea.dev/cardea/internal/core/model"

// unsupported tells what of a rule could not be rendered as it is written.
func unsupported(k model.RuleKey, f fragment) []model.Finding {
	var findings []model.Finding
	_, answer := k.Route.Kind().Failure()
	for _, problem := range f.Problems {
		findings = append(findings, model.Finding{
			Object: k.Route, Section: k.Name, Severity: model.Error, Condition: "Accepted", Reason: "UnsupportedValue",
			Drops:   true,
			Message: "Envoy can't serve this rule, its requests get " + answer + ": " + problem,
		})
	}
	return findings
}
