// Package retry is the feature `retry` of a TrafficPolicy: when a request is tried again.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package retry

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says when a request is tried again. If a part of the body was sent, a request is tried again only if Envoy has
// all of the body.
type Spec struct {
	// Attempts is how often a request is tried again at most; 0 is never. Nothing stated: once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Attempts *int32 `json:"attempts,omitempty"`
	// RetryOn lists what is tried again. Nothing stated: ConnectFailure and RefusedStream, after which the backend can't
	// have worked on the request, and Reset if attempts are bounded in time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	RetryOn []Condition `json:"retryOn,omitempty"`
	// Codes lists HTTP statuses of the backend that are tried again, too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Codes []Code `json:"codes,omitempty"`
	// Backoff is how long to wait before the next attempt: a random time, which doubles with each attempt.
	// +optional
	Backoff *Backoff `json:"backoff,omitempty"`
	// PerTry bounds each attempt, in place of timeouts.backendRequest.
	// +optional
	PerTry *gatewayv1.Duration `json:"perTry,omitempty"`
	// OtherHosts looks for an endpoint that has not failed for the request yet. Nothing stated: true.
	// +optional
	OtherHosts *bool `json:"otherHosts,omitempty"`
}

// Code is an HTTP status of a backend's answer.
// +kubebuilder:validation:Minimum=400
// +kubebuilder:validation:Maximum=599
type Code int32

// Condition is what happened to an attempt. Those from Cancelled on are statuses of gRPC.
// +kubebuilder:validation:Enum=ConnectFailure;RefusedStream;Reset;ResetBeforeRequest;GatewayError;ServerError;Conflict;Cancelled;DeadlineExceeded;Internal;ResourceExhausted;Unavailable
type Condition string

// envoyWords are the conditions in Envoy's words; those in grpcWords count for gRPC statuses.
var (
	envoyWords = map[Condition]string{
		"ConnectFailure": "connect-failure", "RefusedStream": "refused-stream", "Reset": "reset",
		"ResetBeforeRequest": "reset-before-request", "GatewayError": "gateway-error", "ServerError": "5xx",
		"Conflict": "retriable-4xx",
	}
	grpcWords = map[Condition]string{
		"Cancelled": "cancelled", "DeadlineExceeded": "deadline-exceeded", "Internal": "internal",
		"ResourceExhausted": "resource-exhausted", "Unavailable": "unavailable",
	}
)

// Backoff is how long to wait between attempts.
type Backoff struct {
	// Base is the most that is waited before the second attempt; 25ms if nothing is stated.
	// +optional
	Base *gatewayv1.Duration `json:"base,omitempty"`
	// Max is the most that is ever waited; ten times base if nothing is stated.
	// +optional
	Max *gatewayv1.Duration `json:"max,omitempty"`
}

// Value is the spec as read.
type Value struct {
	Attempts   uint32
	On         []string // in Envoy's words
	Codes      []uint32
	Base, Max  time.Duration
	PerTry     time.Duration
	OtherHosts bool
}

// Feature is when a request is tried again.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "retry", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Group: "attempts",
	Own:   own, Read: read, Envoy: extend.EnvoyFuncs[Value]{Rule: render},
}

// own is what a route's rule states in its field retry.
func own(rule gatewayv1.HTTPRouteRule) (s Spec, stated bool) {
	if rule.Retry == nil {
		return s, false
	}
	if rule.Retry.Attempts != nil {
		s.Attempts = new(int32(min(*rule.Retry.Attempts, mostAttempts)))
	}
	for _, c := range rule.Retry.Codes {
		s.Codes = append(s.Codes, Code(c))
	}
	if rule.Retry.Backoff != nil {
		s.Backoff = &Backoff{Base: rule.Retry.Backoff}
	}
	return s, true
}

// mostAttempts is how often a request is tried again at most, whoever states it.
const mostAttempts = 10

// bounds are the fields of the feature timeouts that matter here.
type bounds struct {
	Request        *gatewayv1.Duration `json:"request"`
	BackendRequest *gatewayv1.Duration `json:"backendRequest"`
}

func read(r extend.Reader, s Spec) Value {
	v := Value{Attempts: 1, OtherHosts: s.OtherHosts == nil || *s.OtherHosts}
	if s.Attempts != nil {
		v.Attempts = uint32(*s.Attempts)
	}
	for _, c := range s.Codes {
		v.Codes = append(v.Codes, uint32(c))
	}
	if s.Backoff != nil {
		v.Base, v.Max = duration(r, "backoff.base", s.Backoff.Base), duration(r, "backoff.max", s.Backoff.Max)
		if s.Backoff.Base != nil && v.Base == 0 {
			r.Field("backoff.base").Refuse("it must be longer than 0s; leave it out for the default, 25ms")
		}
		if v.Max > 0 && v.Base == 0 {
			v.Base = defaultBase
		}
		if v.Max > 0 && v.Max < v.Base {
			r.Field("backoff.max").Refuse(fmt.Sprintf("it is shorter than base, %s", v.Base))
		}
	}
	var t bounds
	r.Effective("timeouts", &t)
	v.PerTry = duration(r, "perTry", s.PerTry)
	if s.PerTry == nil {
		v.PerTry = duration(r, "", t.BackendRequest)
	}
	if whole := duration(r, "", t.Request); whole > 0 && v.PerTry > whole {
		r.Field("perTry").Refuse(fmt.Sprintf("it is %s, longer than the whole request may take (timeouts.request: %s)",
			v.PerTry, whole))
	}
	v.On = conditions(r, s, v)
	return v
}

// defaultBase is Envoy's.
const defaultBase = 25 * time.Millisecond

func duration(r extend.Reader, field string, text *gatewayv1.Duration) time.Duration {
	if text == nil {
		return 0
	}
	d, err := time.ParseDuration(string(*text))
	if err != nil || d < 0 {
		r.Field(field).Refuse(fmt.Sprintf("%q is not a duration, such as 1m30s", *text))
		return 0
	}
	return d
}

// conditions are what is tried again, in Envoy's words.
func conditions(r extend.Reader, s Spec, v Value) (on []string) {
	for i, c := range s.RetryOn {
		switch {
		case envoyWords[c] != "":
			on = append(on, envoyWords[c])
		case grpcWords[c] != "":
			on = append(on, grpcWords[c])
		default:
			r.Field(fmt.Sprintf("retryOn[%d]", i)).Refuse(fmt.Sprintf("%s is not known", c))
		}
	}
	if s.RetryOn == nil {
		on = []string{envoyWords["ConnectFailure"], envoyWords["RefusedStream"]}
		if v.PerTry > 0 {
			on = append(on, envoyWords["Reset"])
		}
	}
	if len(s.Codes) > 0 {
		on = append(on, "retriable-status-codes")
	}
	return slices.Compact(on)
}

// otherHosts is how often a retry looks for an endpoint that has not failed yet.
const otherHosts = 5

func render(e extend.EnvoyRule, v Value) {
	p := &routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(v.Attempts)}
	if v.PerTry > 0 {
		p.PerTryTimeout = durationpb.New(v.PerTry)
	}
	if v.Attempts > 0 {
		p.RetryOn, p.RetriableStatusCodes = strings.Join(v.On, ","), v.Codes
		if v.Base > 0 {
			p.RetryBackOff = &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(v.Base)}
			if v.Max > 0 {
				p.RetryBackOff.MaxInterval = durationpb.New(v.Max)
			}
		}
		if v.OtherHosts {
			p.RetryHostPredicate, p.HostSelectionRetryMaxAttempts = previousHosts(), otherHosts
		}
	}
	e.Route(&routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{RetryPolicy: p}}})
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
