package retry

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

func renderRule(e envoy.Rule, v Value) {
	p := &routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(v.Attempts)}
	if v.PerTry > 0 {
		p.PerTryTimeout = durationpb.New(v.PerTry)
	}
	if v.Attempts > 0 {
		p.RetryOn, p.RetriableStatusCodes = retryOn(v), v.Codes
		if v.Base > 0 {
			p.RetryBackOff = &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(v.Base)}
			if v.Max > 0 {
				p.RetryBackOff.MaxInterval = durationpb.New(v.Max)
			}
		}
		if v.OtherHosts {
			p.RetryHostPredicate, p.HostSelectionRetryMaxAttempts = previousHosts(), otherHostAttempts
		}
	}
	e.Route(&routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{RetryPolicy: p}}})
}

// words are the conditions in Envoy's words; those from "cancelled" on count for gRPC statuses.
var words = map[Condition]string{
	"ConnectFailure": "connect-failure", "RefusedStream": "refused-stream", "Reset": "reset",
	"ResetBeforeRequest": "reset-before-request", "GatewayError": "gateway-error", "ServerError": "5xx",
	"Conflict":  "retriable-4xx",
	"Cancelled": "cancelled", "DeadlineExceeded": "deadline-exceeded", "Internal": "internal",
	"ResourceExhausted": "resource-exhausted", "Unavailable": "unavailable",
}

// retryOn are the conditions of a value, as a RetryPolicy has them.
func retryOn(v Value) string {
	var on []string
	for _, c := range v.On {
		on = append(on, words[c])
	}
	if len(v.Codes) > 0 {
		on = append(on, "retriable-status-codes")
	}
	return strings.Join(on, ",")
}

func previousHosts() []*routev3.RetryPolicy_RetryHostPredicate {
	config, err := anypb.New(&previoushostsv3.PreviousHostsPredicate{})
	if err != nil {
		panic(err) // an empty message
	}
	return []*routev3.RetryPolicy_RetryHostPredicate{{
		Name:       "envoy.retry_host_predicates.previous_hosts",
		ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: config},
	}}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
