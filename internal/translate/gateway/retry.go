package gateway

import (
	"fmt"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// readTimeouts reads a rule's timeouts: 0s is no timeout, as nothing is.
func readTimeouts(spec *gatewayv1.HTTPRouteTimeouts) (read model.Timeouts, problems []problem) {
	if spec == nil {
		return read, nil
	}
	request, wrong := readDuration(".request", spec.Request)
	backend, also := readDuration(".backendRequest", spec.BackendRequest)
	problems = append(wrong, also...)
	if request > 0 && backend > request {
		problems = append(problems, unsupported(".backendRequest", "it must not be longer than timeouts.request"))
	}
	return model.Timeouts{Request: request, Backend: backend}, problems
}

func readDuration(field string, text *gatewayv1.Duration) (time.Duration, []problem) {
	d, wrong := duration(text)
	if wrong != "" {
		return d, []problem{unsupported(field, wrong)}
	}
	return d, nil
}

// duration reads a duration as GEP-2257 writes them, which is a subset of Go's; wrong is why it is none.
func duration(text *gatewayv1.Duration) (d time.Duration, wrong string) {
	if text == nil {
		return 0, ""
	}
	d, err := time.ParseDuration(string(*text))
	if err != nil || d < 0 {
		return 0, fmt.Sprintf("%q is not a duration, such as 1m30s", *text)
	}
	return d, ""
}

// mostAttempts is how often a request is tried again at most. The stated number is a maximum, too, so fewer are
// allowed; many would let one client's request become a load.
const mostAttempts = 10

// readRetry reads when a request is tried again; without attempts, never.
func readRetry(spec *gatewayv1.HTTPRouteRetry) (*model.Retry, []problem) {
	if spec == nil {
		return nil, nil
	}
	read := model.Retry{Attempts: 1}
	var problems []problem
	switch n := spec.Attempts; {
	case n == nil:
	case *n < 0:
		return nil, []problem{unsupported(".attempts", fmt.Sprintf("state 0 to %d", mostAttempts))}
	case *n > mostAttempts:
		read.Attempts = mostAttempts
		problems = []problem{{
			field: ".attempts", severity: model.Warning,
			message: fmt.Sprintf("%d are stated, and a request is tried again %d times at most", *n, mostAttempts),
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
		problems = append(problems, unsupported(".backoff", "it must be longer than 0s; leave it out for the default, 25ms"))
	}
	if read.Attempts == 0 {
		return nil, problems
	}
	return &read, problems
}
