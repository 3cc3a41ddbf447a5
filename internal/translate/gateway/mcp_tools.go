package gateway

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/model"
)

// bridged makes a server of MCP of the rule's backends, if a policy that the rule names does that.
func (s ruleScope) bridged(rule *model.Rule, backends []sharing) []problem {
	i := slices.IndexFunc(rule.Policies, func(ref model.ObjectRef) bool { return s.refs.policies.MCPServer(s.c, ref) })
	if i < 0 {
		return nil
	}
	by := rule.Policies[i]
	if clash := bridgeClash(s.route.Kind(), *rule, backends); clash != "" {
		return []problem{{field: ".filters", condition: "Accepted", reason: "IncompatibleFilters", drops: true,
			message: fmt.Sprintf("%s makes a server of MCP of the rule's backends, %s", by, clash)}}
	}
	for i := range backends {
		if backends[i].MCP {
			return []problem{unsupported(fmt.Sprintf(".backendRefs[%d]", i), fmt.Sprintf("%s speaks MCP by itself, and %s is "+
				"for others; leave the filter out, or name another backend", backends[i].Backend.Object, by))}
		}
	}
	for i := range backends {
		backends[i].MCP = true
	}
	return nil
}

// bridgeClash tells what can't be beside a policy that makes a server of MCP of backends; "": nothing is in the way.
func bridgeClash(route model.Kind, rule model.Rule, backends []sharing) string {
	const mend = "; leave one of the two filters out"
	rewritten := func(f *model.Filters) bool { return f != nil && f.Rewrite != nil && f.Rewrite.Path != nil }
	switch {
	case route == model.KindGRPCRoute:
		return "and calls of gRPC are no messages of MCP; name it in a rule of an HTTPRoute"
	case rule.Redirect != nil:
		return "and the rule redirects" + mend
	case rule.Answers:
		return "and another policy answers in their place" + mend
	case rewritten(&rule.Filters), slices.ContainsFunc(backends, func(b sharing) bool { return rewritten(b.Filters) }):
		return "and the tools say which path is asked for, so it can't be rewritten; leave the rewrite of the path out, " +
			"and write its prefix into the paths of the tools"
	}
	return ""
}
