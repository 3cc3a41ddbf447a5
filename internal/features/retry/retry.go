// Package retry is the feature `retry` of a TrafficPolicy: when a request is tried again.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package retry

import (
	_ "embed"
	"fmt"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says when a request is tried again. If a part of the body was sent, a request is tried again only if Envoy has
// all of the body.
type Spec struct {
	// Attempts is how often a request is tried again at most; 0 is never. Default: once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Attempts *int32 `json:"attempts,omitempty"`
	// RetryOn lists what is tried again. Default: ConnectFailure and RefusedStream, after which the backend can't
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
	// OtherHosts looks for an endpoint that has not failed for the request yet. Default: true.
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

// conditions are those that are known.
var conditions = []Condition{
	"ConnectFailure", "RefusedStream", "Reset", "ResetBeforeRequest", "GatewayError", "ServerError", "Conflict",
	"Cancelled", "DeadlineExceeded", "Internal", "ResourceExhausted", "Unavailable",
}

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
	On         []Condition
	Codes      []uint32
	Base, Max  time.Duration
	PerTry     time.Duration
	OtherHosts bool
}

// Feature is when a request is tried again.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "retry", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Group: "attempts", RuleFields: readRouteRule,
	Read: readSpec, Renders: renders,
}

// readRouteRule is what a route's rule states in its field retry.
func readRouteRule(rule gatewayv1.HTTPRouteRule) (s Spec, stated bool) {
	if rule.Retry == nil {
		return s, false
	}
	if rule.Retry.Attempts != nil {
		s.Attempts = new(int32(min(*rule.Retry.Attempts, maxAttempts)))
	}
	for _, c := range rule.Retry.Codes {
		s.Codes = append(s.Codes, Code(c))
	}
	if rule.Retry.Backoff != nil {
		s.Backoff = &Backoff{Base: rule.Retry.Backoff}
	}
	return s, true
}

// maxAttempts is how often a request is tried again at most, whoever states it.
const maxAttempts = 10

// timeoutBounds are the fields of the feature timeouts that matter here.
type timeoutBounds struct {
	Request        *gatewayv1.Duration `json:"request"`
	BackendRequest *gatewayv1.Duration `json:"backendRequest"`
}

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{Attempts: 1, OtherHosts: s.OtherHosts == nil || *s.OtherHosts}
	if s.Attempts != nil {
		v.Attempts = uint32(*s.Attempts)
	}
	for _, c := range s.Codes {
		v.Codes = append(v.Codes, uint32(c))
	}
	if s.Backoff != nil {
		v.Base, v.Max = readDuration(r, "backoff.base", s.Backoff.Base), readDuration(r, "backoff.max", s.Backoff.Max)
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
	var t timeoutBounds
	r.Effective("timeouts", &t)
	v.PerTry = readDuration(r, "perTry", s.PerTry)
	if s.PerTry == nil {
		v.PerTry = readDuration(r, "", t.BackendRequest)
	}
	if whole := readDuration(r, "", t.Request); whole > 0 && v.PerTry > whole {
		r.Field("perTry").Refuse(fmt.Sprintf("it is %s, longer than the whole request may take (timeouts.request: %s)",
			v.PerTry, whole))
	}
	v.On = retryConditions(r, s, v)
	return v
}

// defaultBase is Envoy's.
const defaultBase = 25 * time.Millisecond

func readDuration(r extend.Reader, field string, text *gatewayv1.Duration) time.Duration {
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

// retryConditions are what is tried again, besides Codes.
func retryConditions(r extend.Reader, s Spec, v Value) (on []Condition) {
	for i, c := range s.RetryOn {
		if !slices.Contains(conditions, c) {
			r.Field(fmt.Sprintf("retryOn[%d]", i)).Refuse(fmt.Sprintf("%s is not known", c))
			continue
		}
		on = append(on, c)
	}
	if s.RetryOn == nil {
		on = []Condition{"ConnectFailure", "RefusedStream"}
		if v.PerTry > 0 {
			on = append(on, "Reset")
		}
	}
	return slices.Compact(on)
}

// otherHostAttempts is how often a retry looks for an endpoint that has not failed yet.
const otherHostAttempts = 5
