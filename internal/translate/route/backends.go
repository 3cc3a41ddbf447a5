package route

import (
	"fmt"
	"iter"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/backend"
	"cardea.dev/cardea/internal/translate/problem"
)

// resolveBackend resolves a reference of a route to a backend.
func (s ruleScope) resolveBackend(b gatewayv1.BackendObjectReference) backend.Referred {
	return s.refs.Backends.ResolveBackend(s.c, s.route, b, s.grpc)
}

// resolveServer resolves a reference to one that is sent copies of requests, or is asked about them.
func (s ruleScope) resolveServer(b gatewayv1.BackendObjectReference) backend.Referred {
	return s.resolveBackend(b).Direct()
}

// reportedBackends are the objects that a rule names as backends and that have a status here.
func (s ruleScope) reportedBackends(spec gatewayv1.HTTPRouteRule) (list []model.ObjectRef) {
	for b := range eachBackendRef(spec) {
		list = append(list, s.refs.Backends.Follow(s.c, s.route, b)...)
	}
	return list
}

// eachBackendRef goes over all references to backends of a rule.
func eachBackendRef(spec gatewayv1.HTTPRouteRule) iter.Seq[gatewayv1.BackendObjectReference] {
	return func(yield func(gatewayv1.BackendObjectReference) bool) {
		if !yieldFilters(spec.Filters, yield) {
			return
		}
		for _, b := range spec.BackendRefs {
			if !yield(b.BackendObjectReference) || !yieldFilters(b.Filters, yield) {
				return
			}
		}
	}
}

func yieldFilters(list []gatewayv1.HTTPRouteFilter, yield func(gatewayv1.BackendObjectReference) bool) bool {
	for _, f := range list {
		if f.RequestMirror != nil && !yield(f.RequestMirror.BackendRef) ||
			f.ExternalAuth != nil && !yield(f.ExternalAuth.BackendRef) {
			return false
		}
	}
	return true
}

// applyBackendPath sends a rule's requests to the path of its backends, unless the rule itself says what becomes of the
// path.
func (s ruleScope) applyBackendPath(rule *model.Rule, backends []ruleBackend) []problem.Problem {
	path := ""
	for _, b := range backends {
		switch {
		case b.path == "" || b.Invalid || path == b.path:
		case path == "":
			path = b.path
		default:
			return []problem.Problem{problem.NewUnsupported("",
				fmt.Sprintf("the XBackends have different paths, %s and %s; put each into "+
					"its own rule", path, b.path))}
		}
	}
	if path == "" || rule.Redirect != nil || rule.Rewrite != nil && rule.Rewrite.Path != nil {
		return nil
	}
	to := model.Rewrite{Path: &model.PathRewrite{Prefix: true, Value: path}}
	if rule.Rewrite != nil {
		to.Hostname = rule.Rewrite.Hostname
	}
	for _, m := range s.matches {
		to.Path.Prefix = to.Path.Prefix && m.Path.Type == model.PathPrefix
	}
	rule.Rewrite = &to
	return nil
}

// readRuleSession reads how clients are kept at one endpoint, of whichever backend gets their requests; backends are
// those that the rule refers to.
func (s ruleScope) readRuleSession(
	spec *gatewayv1.SessionPersistence, rule string, backends []ruleBackend,
) (*model.Session, []problem.Problem) {
	if spec == nil {
		return nil, nil
	}
	read, problems := backend.ReadSession(*spec, s.route.String()+"/"+rule, s.describeAnswer())
	for i, b := range backends {
		if b.Weight > 0 && !b.Invalid && b.affinity != "" {
			problems = append(problems, problem.NewUnsupported("",
				fmt.Sprintf("%s of backendRefs[%d] has %s; state one of the two",
					b.Backend.Object, i, b.affinity)))
		}
	}
	return &read, problems
}

// bridgeMCP makes a server of MCP of the rule's backends, if a policy that the rule names does that.
func (s ruleScope) bridgeMCP(rule *model.Rule, backends []ruleBackend) []problem.Problem {
	i := slices.IndexFunc(rule.Policies, func(ref model.ObjectRef) bool {
		return s.refs.Policies.MakesMCPServer(s.c,
			ref)
	})
	if i < 0 {
		return nil
	}
	by := rule.Policies[i]
	if clash := bridgeClash(s.grpc, *rule, backends); clash != "" {
		return []problem.Problem{{Field: ".filters", Condition: "Accepted", Reason: "IncompatibleFilters", Drops: true,
			Message: fmt.Sprintf("%s makes the rule's backends an MCP server, %s", by, clash)}}
	}
	for i := range backends {
		if backends[i].MCP {
			return []problem.Problem{problem.NewUnsupported(fmt.Sprintf(".backendRefs[%d]", i),
				fmt.Sprintf("%s is already an MCP server, and %s is for backends that are not; leave the filter out, or name "+
					"another backend", backends[i].Backend.Object, by))}
		}
	}
	for i := range backends {
		backends[i].MCP = true
	}
	return nil
}

// bridgeClash tells what can't be beside a policy that makes a server of MCP of backends; "": nothing is in the way.
func bridgeClash(grpc bool, rule model.Rule, backends []ruleBackend) string {
	const mend = "; leave one of the two filters out"
	rewritten := func(f *model.Filters) bool { return f != nil && f.Rewrite != nil && f.Rewrite.Path != nil }
	switch {
	case grpc:
		return "but gRPC calls are not MCP messages; name it in a rule of an HTTPRoute"
	case rule.Redirect != nil:
		return "but the rule redirects" + mend
	case rule.PolicyAnswers:
		return "but another policy answers the requests" + mend
	case rewritten(&rule.Filters), slices.ContainsFunc(backends, func(b ruleBackend) bool { return rewritten(b.Filters) }):
		return "but the tools state the path, so it can't be rewritten; leave the rewrite of the path out, and write its " +
			"prefix into the paths of the tools"
	}
	return ""
}
