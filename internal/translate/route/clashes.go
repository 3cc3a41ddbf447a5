package route

import (
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// incompatibleProblem is the problem of a clash of filters; none if there is no clash.
func incompatibleProblem(clash string) []problem.Problem {
	if clash == "" {
		return nil
	}
	return []problem.Problem{{Condition: "Accepted", Reason: "IncompatibleFilters", Message: clash, Drops: true}}
}

// findClash tells what some filters can't do beside others: beside each other or, those of a backendRef, beside the
// rule's. "": nothing.
func findClash(f, beside model.Filters) string {
	switch {
	case f.Redirect != nil && len(beside.Mirrors) > 0:
		return "a redirected request can't be mirrored; leave one of the two filters out"
	case f.Redirect != nil && beside.CORS != nil:
		return "CORS does not apply to redirected requests; leave one of the two filters out"
	}
	return ""
}

// answerClashes are the problems of filters of a rule that a policy answers for.
func answerClashes(r model.Rule) []problem.Problem {
	const mend = "a policy that the rule names answers it; leave one of the two filters out"
	switch {
	case !r.PolicyAnswers:
		return nil
	case r.Redirect != nil:
		return incompatibleProblem("a request can't be redirected: " + mend)
	case r.CORS != nil:
		return incompatibleProblem("CORS does not apply to the request: " + mend)
	case len(r.Mirrors) > 0:
		return incompatibleProblem("a request can't be mirrored: " + mend)
	case r.Rewrite != nil:
		return incompatibleProblem("no backend gets the rewritten request: " + mend)
	case r.RequestHeaders != nil:
		return []problem.Problem{{Severity: model.Warning,
			Message: "no backend gets the headers of the request: " + mend}}
	}
	return nil
}

// findRepeat tells what the filters of a backendRef do again, or undo, that the rule's filters do. "": nothing.
func findRepeat(rule, f model.Filters) string {
	const mend = "the rule's own filters state it, too; state it in one of the two places"
	switch {
	case rule.Redirect != nil:
		return "the rule redirects, so that no backend gets a request; leave these filters out"
	case f.Redirect != nil && rule.Rewrite != nil:
		return "a request that the rule rewrites can't be redirected; leave one of the two filters out"
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
