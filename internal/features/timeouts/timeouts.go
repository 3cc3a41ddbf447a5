// Package timeouts is the feature `timeouts` of a TrafficPolicy: how long a request may take.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package timeouts

import (
	_ "embed"
	"fmt"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec bounds how long a request may take. 0s is no bound.
type Spec struct {
	// Request bounds the whole request with all its attempts, from when it was received to the end of the answer. Then
	// the client gets 504.
	// +optional
	Request *gatewayv1.Duration `json:"request,omitempty"`
	// BackendRequest bounds each attempt. It must not be longer than request.
	// +optional
	BackendRequest *gatewayv1.Duration `json:"backendRequest,omitempty"`
	// StreamIdle bounds how long neither side may send anything. Then the request ends.
	// +optional
	StreamIdle *gatewayv1.Duration `json:"streamIdle,omitempty"`
	// Stream bounds a request with its answer however much is sent, also one that goes on for ever, such as a WebSocket.
	// +optional
	Stream *gatewayv1.Duration `json:"stream,omitempty"`
}

// Value is the times as read; nil: nothing is stated.
type Value struct {
	Request, BackendRequest, StreamIdle, Stream *time.Duration
	Retries                                     bool // the feature retry renders BackendRequest
}

// Feature is how long a request may take.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "timeouts", Schema: schema, Levels: extend.AtRule | extend.AtBackendRef,
	OnInvalid: extend.Deny, Group: "attempts", RuleFields: readRouteRule,
	Read: readSpec, Renders: renders, Describe: describeValue,
}

// readRouteRule is what a route's rule states in its field timeouts.
func readRouteRule(rule gatewayv1.HTTPRouteRule) (Spec, bool) {
	if rule.Timeouts == nil {
		return Spec{}, false
	}
	return Spec{Request: rule.Timeouts.Request, BackendRequest: rule.Timeouts.BackendRequest}, true
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	v.Request, v.BackendRequest = readDuration(r, "request", s.Request), readDuration(r, "backendRequest",
		s.BackendRequest)
	v.StreamIdle, v.Stream = readDuration(r, "streamIdle", s.StreamIdle), readDuration(r, "stream", s.Stream)
	if isPositive(v.Request) && isPositive(v.BackendRequest) && *v.BackendRequest > *v.Request {
		r.Field("backendRequest").Refuse(fmt.Sprintf("it is %s, longer than the whole request may take (request: %s)",
			*s.BackendRequest, *s.Request))
	}
	var retry struct{}
	v.Retries = r.Effective("retry", &retry)
	return v
}

func readDuration(r extend.Reader, field string, text *gatewayv1.Duration) *time.Duration {
	if text == nil {
		return nil
	}
	d, err := time.ParseDuration(string(*text))
	if err != nil || d < 0 {
		r.Field(field).Refuse(fmt.Sprintf("%q is not a duration, such as 1m30s", *text))
		return nil
	}
	return &d
}

func isPositive(d *time.Duration) bool { return d != nil && *d > 0 }

func describeValue(v Value) (list []string) {
	for _, t := range []struct {
		of   *time.Duration
		what string
	}{
		{v.StreamIdle, "the request ends if nothing is sent for %s"}, {v.Stream, "the request ends after %s"},
	} {
		if isPositive(t.of) {
			list = append(list, fmt.Sprintf(t.what, *t.of))
		}
	}
	return list
}
