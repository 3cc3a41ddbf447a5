package route

import (
	"fmt"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// readTimeouts reads a rule's timeouts: 0s is no timeout, as nothing is.
func readTimeouts(spec *gatewayv1.HTTPRouteTimeouts) (read model.Timeouts, problems []problem.Problem) {
	if spec == nil {
		return read, nil
	}
	request, wrong := readDuration(".request", spec.Request)
	backend, also := readDuration(".backendRequest", spec.BackendRequest)
	problems = append(wrong, also...)
	if request > 0 && backend > request {
		problems = append(problems, problem.NewUnsupported(".backendRequest", "it must not be longer than timeouts.request"))
	}
	return model.Timeouts{Request: request, Backend: backend}, problems
}

func readDuration(field string, text *gatewayv1.Duration) (time.Duration, []problem.Problem) {
	d, wrong := resolve.ParseDuration((*string)(text))
	if wrong != "" {
		return d, []problem.Problem{problem.NewUnsupported(field, wrong)}
	}
	return d, nil
}

// maxAttempts is how often a request is tried again at most. The stated number is a maximum, too, so fewer are
// allowed; many would let one client's request become a load.
const maxAttempts = 10

// readRetry reads when a request is tried again; without attempts, never.
func readRetry(spec *gatewayv1.HTTPRouteRetry) (*model.Retry, []problem.Problem) {
	if spec == nil {
		return nil, nil
	}
	read := model.Retry{Attempts: 1}
	var problems []problem.Problem
	switch n := spec.Attempts; {
	case n == nil:
	case *n < 0:
		return nil, []problem.Problem{problem.NewUnsupported(".attempts", fmt.Sprintf("state 0 to %d", maxAttempts))}
	case *n > maxAttempts:
		read.Attempts = maxAttempts
		problems = []problem.Problem{{
			Field: ".attempts", Severity: model.Warning,
			Message: fmt.Sprintf("%d attempts are stated, but a request is retried %d times at most", *n, maxAttempts),
		}}
	default:
		read.Attempts = uint32(*n)
	}
	for _, code := range spec.Codes {
		read.Codes = append(read.Codes, uint32(code))
	}
	backoff, wrong := readDuration(".backoff", spec.Backoff)
	read.Backoff, problems = backoff, append(problems, wrong...)
	if spec.Backoff != nil && backoff == 0 && len(wrong) == 0 {
		problems = append(problems, problem.NewUnsupported(".backoff",
			"it must be longer than 0s; leave it out for the default, 25ms"))
	}
	if read.Attempts == 0 {
		return nil, problems
	}
	return &read, problems
}
