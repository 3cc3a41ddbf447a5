package gateway

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy"
)

// references is where what a route refers to is looked up.
type references struct {
	http      *input.Collection[gatewayv1.HTTPRouteSpec]
	grpc      *input.Collection[gatewayv1.GRPCRouteSpec]
	rivals    rivals
	ports     *flow.Collection[model.PortKey, model.Port]
	backends  backendKinds
	grants    *grants
	unchecked bool // see Options
	policies  *policy.Store
	failovers *failovers
	broken    *broken
}

// route reads a route that names a Gateway of this controller.
func (refs references) route(c *flow.Ctx, ref model.ObjectRef, a attachments) (model.Route, bool) {
	if len(a.Parents) == 0 {
		return model.Route{}, false
	}
	spec, matches, unknown, found := refs.read(c, ref)
	if !found {
		return model.Route{}, false
	}
	r := model.Route{Created: a.Created, Gateways: a.gateways(), Rules: newRules(ref, spec.Rules, matches)}
	r.Places, r.Findings = refs.places(c, ref, a)
	if spec.UseDefaultGateways != "" && spec.UseDefaultGateways != gatewayv1.GatewayDefaultScopeNone {
		r.Findings = append(r.Findings, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.useDefaultGateways",
			Message: "default Gateways are not supported; name the Gateway in parentRefs",
		})
	}
	r.Findings = append(r.Findings, unknown.finding(ref)...)
	for i, spec := range spec.Rules {
		scope, at := ruleScope{c: c, refs: refs, route: ref}, fmt.Sprintf("spec.rules[%d]", i)
		matches, unread, problems := unknown.split(i, r.Rules[i].Matches)
		if unread != nil {
			failing, wrong := scope.failing(r.Rules[i], unread)
			r.Findings = append(r.Findings, findings(ref, failing.Key.Name, at, append(problems, wrong...))...)
			if matches == nil {
				r.Rules[i] = failing
				continue
			}
			r.Rules = append(r.Rules, failing)
			r.Rules[i].Matches = matches
		}
		rule, problems := scope.read(spec, r.Rules[i])
		r.Rules[i] = rule
		r.Findings = append(r.Findings, findings(ref, rule.Key.Name, at, problems)...)
		for _, named := range scope.reporting(spec) {
			if !slices.Contains(r.Backends, named) {
				r.Backends = append(r.Backends, named)
			}
		}
	}
	return r, true
}

// read finds a route's spec, in the words of an HTTPRoute but for the matches of its rules, and which fields of it are
// not known.
func (refs references) read(
	c *flow.Ctx, ref model.ObjectRef,
) (spec *gatewayv1.HTTPRouteSpec, matches [][]model.Match, unknown unknownFields, found bool) {
	if ref.Kind() == model.KindGRPCRoute {
		o, found := flow.Fetch(c, refs.grpc, ref)
		if !found {
			return nil, nil, nil, false
		}
		return input.AsHTTPRoute(o.Spec), grpcMatches(o.Spec.Rules), o.Meta.Unknown, true
	}
	o, found := flow.Fetch(c, refs.http, ref)
	if !found {
		return nil, nil, nil, false
	}
	return o.Spec, httpMatches(o.Spec.Rules), o.Meta.Unknown, true
}

// ruleScope is what the readers of one rule look up. It never changes; what they read they return.
type ruleScope struct {
	c       *flow.Ctx
	refs    references
	route   model.ObjectRef
	matches []model.Match // of the rule
	// ofBackend: filters are those of a backendRef.
	ofBackend bool
}

// unknown is the problem of what is not supported, for which the rule is dropped.
func (s ruleScope) unknown(field, what string) problem {
	return unsupported(field, what+" is not supported; "+s.answersInstead())
}

// answersInstead is what the rule does that can't run as written.
func (s ruleScope) answersInstead() string {
	_, answer := s.route.Kind().Failure()
	return fmt.Sprintf("the rule answers %s rather than run without", answer)
}

// read reads one rule; rule has its name and its matches. A rule that can't be served as written answers an error and
// never runs without what it asks for. Only the matches of such a rule count: it needs no backends, and its bytes don't
// change with them.
func (s ruleScope) read(spec gatewayv1.HTTPRouteRule, rule model.Rule) (model.Rule, []problem) {
	var problems []problem
	add := func(field string, list []problem) { problems = append(problems, below(field, list)...) }
	matches, wrong := readMatches(rule.Matches)
	add(".matches", wrong)
	s.matches, rule.Matches = matches, matches
	rule.Filters, wrong = s.filters(spec.Filters)
	add(".filters", wrong)
	rule.Policies = s.policiesOf(spec.Filters)
	rule.Answers = s.answers(rule.Policies)
	add(".filters", besideAnswer(rule))
	backends, wrong := s.backends(spec.BackendRefs, rule.Filters)
	add(".backendRefs", append(wrong, s.weightless(rule, backends)...))
	add("", s.bridged(&rule, backends))
	add(".backendRefs", s.towards(&rule, backends))
	rule.Timeouts, wrong = readTimeouts(spec.Timeouts)
	add(".timeouts", wrong)
	rule.Retry, wrong = readRetry(spec.Retry)
	add(".retry", wrong)
	rule.Session, wrong = s.session(spec.SessionPersistence, rule.Key.Name, backends)
	add(".sessionPersistence", wrong)
	if drops(problems) {
		status, _ := s.route.Kind().Failure()
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

// weightless warns of a rule that has no backend to send a request to.
func (s ruleScope) weightless(of model.Rule, backends []sharing) []problem {
	if of.Answers && len(backends) > 0 {
		return []problem{{severity: model.Warning,
			message: "no backend gets a request, since a policy that the rule names answers; leave them out"}}
	}
	if of.Answers || of.Redirect != nil || slices.ContainsFunc(backends, func(b sharing) bool { return b.Weight > 0 }) {
		return nil
	}
	_, answer := s.route.Kind().Failure()
	why := "each weight is 0, so no backend gets a request: the rule answers %s; give one a weight of 1 or more"
	if len(backends) == 0 {
		why = "there are none, so the rule answers %s; name a backend"
	}
	return []problem{{severity: model.Warning, message: fmt.Sprintf(why, answer)}}
}

// sharing is a backend that shares a rule's requests.
type sharing struct {
	model.WeightedBackend
	affinity string // see referred
	path     string
}

// backends resolves a rule's backendRefs.
func (s ruleScope) backends(
	list []gatewayv1.HTTPBackendRef, of model.Filters,
) (read []sharing, problems []problem) {
	for i, b := range list {
		at := fmt.Sprintf("[%d]", i)
		weight := uint32(1)
		if b.Weight != nil {
			weight = uint32(*b.Weight)
		}
		to := s.backend(b.BackendObjectReference)
		backend := model.WeightedBackend{Backend: to.Key, Weight: weight, Session: to.Session, External: to.External,
			MCP: to.MCP, Pool: to.Pool}
		if !to.Unusable.none() {
			problems = append(problems, unresolved(at, to.Unusable))
			backend.Invalid, backend.Session, backend.Pool = true, nil, nil
		}
		if backend.Pool != nil {
			var failing []problem
			backend, to.Path, failing = s.orElse(backend)
			problems = append(problems, below(at, failing)...)
		}
		if len(b.Filters) > 0 {
			own := s
			own.ofBackend = true
			filters, wrong := own.filters(b.Filters)
			if own.unextended(b.Filters) {
				backend.Invalid = true
			} else {
				backend.Policies = own.policiesOf(b.Filters)
			}
			wrong = append(wrong, incompatible(cmp.Or(repeats(of, filters), clash(filters, of)))...)
			problems = append(problems, below(at+".filters", wrong)...)
			backend.Filters = &filters
		}
		read = append(read, sharing{backend, to.Affinity, to.Path})
	}
	return read, problems
}
