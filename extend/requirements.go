package extend

// Requirements say for which rules a feature, which is AtRule, does not hold though it is inherited.
type Requirements struct {
	// SkipHTTPSRedirect: what is inherited does not hold for a rule of a listener without TLS that does nothing but
	// redirect to https: a request would be asked for credentials in clear text.
	SkipHTTPSRedirect bool
	// SkipDirectResponse: it has no effect on a rule that answers by itself, with a redirect or by a feature with the
	// effect AnswersRequests. An inherited value does not hold there; a value that is stated for such a rule is refused.
	SkipDirectResponse bool
}
