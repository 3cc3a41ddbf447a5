package gateway

import "cardea.dev/cardea/internal/core/model"

// incompatible is the problem of a clash of filters; none if there is no clash.
func incompatible(clash string) []problem {
	if clash == "" {
		return nil
	}
	return []problem{{condition: "Accepted", reason: "IncompatibleFilters", message: clash, drops: true}}
}

// clash tells what some filters can't do beside others: beside each other or, those of a backendRef, beside the rule's.
// "": nothing.
func clash(f, beside model.Filters) string {
	switch {
	case f.Redirect != nil && len(beside.Mirrors) > 0:
		return "what is redirected can't be mirrored; leave one of the two filters out"
	case f.Redirect != nil && beside.CORS != nil:
		return "Envoy answers no CORS for what is redirected; leave one of the two filters out"
	}
	return ""
}

// besideAnswer are the problems of filters of a rule that a policy answers for.
func besideAnswer(r model.Rule) []problem {
	const mend = "which a policy that the rule names answers; leave one of the two filters out"
	switch {
	case !r.Answers:
		return nil
	case r.Redirect != nil:
		return incompatible("a request can't be redirected, " + mend)
	case r.CORS != nil:
		return incompatible("Envoy answers no CORS for requests, " + mend)
	case len(r.Mirrors) > 0:
		return incompatible("a request can't be mirrored, " + mend)
	case r.Rewrite != nil:
		return incompatible("no backend gets a request that is rewritten, " + mend)
	case r.RequestHeaders != nil:
		return []problem{{severity: model.Warning,
			message: "no backend gets the headers of a request, " + mend}}
	}
	return nil
}

// repeats tells what the filters of a backendRef do again, or undo, that the rule's filters do. "": nothing.
func repeats(rule, f model.Filters) string {
	const mend = "the rule's own filters do it, too; state it in one of the two places"
	switch {
	case rule.Redirect != nil:
		return "the rule redirects, so that no backend gets a request; leave these filters out"
	case f.Redirect != nil && rule.Rewrite != nil:
		return "what the rule rewrites can't be redirected; leave one of the two filters out"
	case f.CORS != nil && rule.CORS != nil:
		return "CORS is stated twice: " + mend
	case f.Auth != nil && rule.Auth != nil:
		return "ExternalAuth is stated twice: " + mend
	case f.Rewrite != nil && rule.Rewrite != nil && f.Rewrite.Hostname != "" && rule.Rewrite.Hostname != "":
		return "the hostname is rewritten twice: " + mend
	case f.Rewrite != nil && rule.Rewrite != nil && f.Rewrite.Path != nil && rule.Rewrite.Path != nil:
		return "the path is rewritten twice: " + mend
	}
	return ""
}
