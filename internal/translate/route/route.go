// Package route reads the rules of routes: matches, filters, backends, retries, sessions, and the policies that they
// name.
//
// It owns what a rule does, and what is wrong with it. It must never know Gateways and listeners: package gateway finds
// where a route serves. A reader of a part of a spec is a function that returns what it read and what is wrong with it
// (problem.Problem). All of it runs inside transforms of package flow. Start reading at ruleScope.readRule.
package route

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/backend"
	"cardea.dev/cardea/internal/translate/policy"
	"cardea.dev/cardea/internal/translate/problem"
)

// Reader is where what rules refer to is looked up.
type Reader struct {
	Sources   *input.Sources
	Backends  *backend.Backends
	Policies  *policy.Store
	Unchecked bool // see gateway.Options
}

// Read reads what a route states, but for its parents: findings and rules.
func (refs Reader) Read(c *flow.Ctx, ref model.ObjectRef, o kind.UntypedObject, r *model.Route) {
	route, unknown := refs.declared(ref), unknownFields(o.Meta.Unknown)
	spec := route.Spec(o.Spec)
	if spec.UseDefaultGateways != "" && spec.UseDefaultGateways != gatewayv1.GatewayDefaultScopeNone {
		r.Findings = append(r.Findings, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.useDefaultGateways",
			Message: "default Gateways are not supported; name the Gateway in parentRefs",
		})
	}
	r.Findings = append(r.Findings, unknown.warnNoEffect(ref)...)
	scope := ruleScope{c: c, refs: refs, route: ref, grpc: route.GRPC}
	if route.ForHTTP() {
		scope.readRules(r, route.HTTP(o.Spec).Rules, route.Matches(o.Spec), unknown)
	} else {
		scope.readConnections(r, route.Rules(o.Spec), route.Carries())
	}
}

// readRules reads the rules of a route for requests.
func (s ruleScope) readRules(
	r *model.Route, rules []gatewayv1.HTTPRouteRule, matches [][]model.Match, unknown unknownFields,
) {
	ref := s.route
	r.Rules = newRules(ref, rules, matches)
	for i, spec := range rules {
		scope, at := s, fmt.Sprintf("spec.rules[%d]", i)
		matches, unread, problems := unknown.splitMatches(i, r.Rules[i].Matches)
		if unread != nil {
			failing, wrong := scope.failingRule(r.Rules[i], unread)
			r.Findings = append(r.Findings, problem.ToFindings(ref, failing.Key.Name, at, append(problems, wrong...))...)
			if matches == nil {
				r.Rules[i] = failing
				continue
			}
			r.Rules = append(r.Rules, failing)
			r.Rules[i].Matches = matches
		}
		rule, problems := scope.readRule(spec, r.Rules[i])
		r.Rules[i] = rule
		r.Findings = append(r.Findings, problem.ToFindings(ref, rule.Key.Name, at, problems)...)
		for _, named := range scope.reportedBackends(spec) {
			if !slices.Contains(r.Backends, named) {
				r.Backends = append(r.Backends, named)
			}
		}
	}
}

// declared is what a route is by its kind.
func (refs Reader) declared(route model.ObjectRef) *kind.Route {
	return refs.Sources.Catalog.FindKind(route.Kind()).AsRoute()
}

// ruleScope is what the readers of one rule look up. It never changes; what they read they return.
type ruleScope struct {
	c       *flow.Ctx
	refs    Reader
	route   model.ObjectRef
	grpc    bool          // see kind.Route
	matches []model.Match // of the rule
	// ofBackend: filters are those of a backendRef.
	ofBackend bool
}

// unknownProblem is the problem of what is not supported, for which the rule is dropped.
func (s ruleScope) unknownProblem(field, what string) problem.Problem {
	return problem.NewUnsupported(field, what+" is not supported; "+s.describeAnswer())
}

// describeAnswer is what the rule does that can't run as written.
func (s ruleScope) describeAnswer() string {
	_, answer := s.route.Kind().FailureStatus()
	return fmt.Sprintf("requests of the rule get %s", answer)
}

// readRule reads one rule; rule has its name and its matches. A rule that can't be served as written answers an error
// and never runs without what it asks for. Only the matches of such a rule count: it needs no backends, and its bytes
// don't change with them.
func (s ruleScope) readRule(spec gatewayv1.HTTPRouteRule, rule model.Rule) (model.Rule, []problem.Problem) {
	var problems []problem.Problem
	add := func(field string, list []problem.Problem) {
		problems = append(problems, problem.PrefixFields(field, list)...)
	}
	matches, wrong := readMatches(rule.Matches)
	add(".matches", wrong)
	s.matches, rule.Matches = matches, matches
	rule.Filters, wrong = s.readFilters(spec.Filters)
	add(".filters", wrong)
	rule.Policies = s.policiesOf(spec.Filters)
	rule.PolicyAnswers = s.anyAnswers(rule.Policies)
	add(".filters", answerClashes(rule))
	backends, wrong := s.readBackends(spec.BackendRefs, rule.Filters)
	add(".backendRefs", append(wrong, s.warnNoBackend(rule, backends)...))
	add("", s.bridgeMCP(&rule, backends))
	add(".backendRefs", s.applyBackendPath(&rule, backends))
	rule.Timeouts, wrong = readTimeouts(spec.Timeouts)
	add(".timeouts", wrong)
	rule.Retry, wrong = readRetry(spec.Retry)
	add(".retry", wrong)
	rule.Session, wrong = s.readRuleSession(spec.SessionPersistence, rule.Key.Name, backends)
	add(".sessionPersistence", wrong)
	if problem.DropsRule(problems) {
		status, _ := s.route.Kind().FailureStatus()
		return model.Rule{Key: rule.Key, Index: rule.Index, Matches: matches, Error: status}, problems
	}
	if len(backends) > 0 {
		rule.Backends = make([]model.WeightedBackend, len(backends))
	}
	for i, b := range backends {
		if rule.Session != nil {
			b.Session = nil // the rule's own counts
		}
		rule.Backends[i] = b.WeightedBackend
	}
	return rule, problems
}

// warnNoBackend warns of a rule that has no backend to send a request to.
func (s ruleScope) warnNoBackend(of model.Rule, backends []ruleBackend) []problem.Problem {
	if of.PolicyAnswers && len(backends) > 0 {
		return []problem.Problem{{Severity: model.Warning,
			Message: "a policy that the rule names answers, so no backend gets a request; leave the backends out"}}
	}
	if of.PolicyAnswers || of.Redirect != nil || slices.ContainsFunc(backends,
		func(b ruleBackend) bool { return b.Weight > 0 }) {
		return nil
	}
	_, answer := s.route.Kind().FailureStatus()
	why := "each weight is 0, so no backend gets a request: the rule answers %s; give one a weight of 1 or more"
	if len(backends) == 0 {
		why = "there are none, so the rule answers %s; name a backend"
	}
	return []problem.Problem{{Severity: model.Warning, Message: fmt.Sprintf(why, answer)}}
}

// ruleBackend is a backend that shares a rule's requests.
type ruleBackend struct {
	model.WeightedBackend
	affinity string // see Referred
	path     string
}

// readBackends resolves a rule's backendRefs.
func (s ruleScope) readBackends(
	list []gatewayv1.HTTPBackendRef, of model.Filters,
) (read []ruleBackend, problems []problem.Problem) {
	for i, b := range list {
		at := fmt.Sprintf("[%d]", i)
		weight := uint32(1)
		if b.Weight != nil {
			weight = uint32(*b.Weight)
		}
		to := s.resolveBackend(b.BackendObjectReference)
		backend := model.WeightedBackend{Backend: to.Key, Weight: weight, Session: to.Session, External: to.External,
			MCP: to.MCP, Pool: to.Pool}
		if !to.Unusable.IsZero() {
			problems = append(problems, problem.NewUnresolved(at, to.Unusable))
			backend.Invalid, backend.Session, backend.Pool = true, nil, nil
		}
		if backend.Pool != nil {
			var failing []problem.Problem
			backend, to.Path, failing = s.refs.Backends.ApplyFailover(s.c, backend, s.grpc)
			problems = append(problems, problem.PrefixFields(at, failing)...)
		}
		if len(b.Filters) > 0 {
			own := s
			own.ofBackend = true
			filters, wrong := own.readFilters(b.Filters)
			if own.hasInvalidExtension(b.Filters) {
				backend.Invalid = true
			} else {
				backend.Policies = own.policiesOf(b.Filters)
			}
			wrong = append(wrong, incompatibleProblem(cmp.Or(findRepeat(of, filters), findClash(filters, of)))...)
			problems = append(problems, problem.PrefixFields(at+".filters", wrong)...)
			backend.Filters = &filters
		}
		read = append(read, ruleBackend{backend, to.Affinity, to.Path})
	}
	return read, problems
}
