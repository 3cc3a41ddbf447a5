package gateway

import (
	"fmt"
	"math"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/model"
)

// timeouts reads a rule's timeouts: 0s is no timeout, as nothing is.
func (r *ruleReader) timeouts(spec *gatewayv1.HTTPRouteTimeouts) {
	if spec == nil {
		return
	}
	r.rule.Timeouts = model.Timeouts{
		Request: r.duration(".timeouts.request", spec.Request),
		Backend: r.duration(".timeouts.backendRequest", spec.BackendRequest),
	}
	if t := r.rule.Timeouts; t.Request > 0 && t.Backend > t.Request {
		r.drop("Accepted", "UnsupportedValue", ".timeouts.backendRequest", "it must not be longer than timeouts.request")
	}
}

func (r *ruleReader) duration(field string, text *gatewayv1.Duration) time.Duration {
	d, wrong := duration(text)
	if wrong != "" {
		r.drop("Accepted", "UnsupportedValue", field, wrong)
	}
	return d
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

// retry reads when a request is tried again; without attempts, never.
func (r *ruleReader) retry(spec *gatewayv1.HTTPRouteRetry) {
	if spec == nil {
		return
	}
	read := model.Retry{Attempts: 1}
	if spec.Attempts != nil {
		if *spec.Attempts < 0 || *spec.Attempts > math.MaxInt32 {
			r.drop("Accepted", "UnsupportedValue", ".retry.attempts", fmt.Sprintf("state 0 to %d", math.MaxInt32))
			return
		}
		read.Attempts = uint32(*spec.Attempts)
	}
	for _, code := range spec.Codes {
		read.Codes = append(read.Codes, uint32(code))
	}
	if spec.Backoff != nil {
		if read.Backoff = r.duration(".retry.backoff", spec.Backoff); read.Backoff == 0 && r.rule.Error == 0 {
			r.drop("Accepted", "UnsupportedValue", ".retry.backoff",
				"it must be longer than 0s; leave it out for the default, 25ms")
		}
	}
	if read.Attempts > 0 {
		r.rule.Retry = &read
	}
}
