package route

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// readConnections reads the rules of a route for connections: which backends share them. A connection for a backend
// that can't be used is closed.
func (s ruleScope) readConnections(r *model.Route, rules []gatewayv1.HTTPRouteRule, carries model.Carried) {
	matches := make([][]model.Match, len(rules))
	for i := range matches {
		matches[i] = []model.Match{{}}
	}
	r.Rules = newConnectionRules(s.route, rules, matches)
	for i, spec := range rules {
		rule := &r.Rules[i]
		var problems []problem.Problem
		for j, b := range spec.BackendRefs {
			to := s.refs.Backends.Refer(s.c, s.route, b.BackendObjectReference, carries).ForConnections()
			weighted := model.WeightedBackend{Backend: to.Key, Weight: 1, External: to.External}
			if b.Weight != nil {
				weighted.Weight = uint32(*b.Weight)
			}
			if !to.Unusable.IsZero() {
				problems = append(problems, problem.NewUnresolved(fmt.Sprintf(".backendRefs[%d]", j), to.Unusable))
				weighted.Invalid = true
			}
			rule.Backends = append(rule.Backends, weighted)
		}
		if !slices.ContainsFunc(rule.Backends, func(b model.WeightedBackend) bool { return b.Weight > 0 }) {
			problems = append(problems, problem.Problem{Severity: model.Warning, Field: ".backendRefs",
				Message: "no backend gets a connection: they are closed; give one a weight of 1 or more"})
		}
		r.Findings = append(r.Findings, problem.ToFindings(s.route, rule.Key.Name, fmt.Sprintf("spec.rules[%d]", i),
			problems)...)
		for _, named := range s.reportedBackends(spec) {
			if !slices.Contains(r.Backends, named) {
				r.Backends = append(r.Backends, named)
			}
		}
	}
}
