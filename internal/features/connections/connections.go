// Package connections is the feature `connections` of a ClientPolicy: how many connections listeners take, and for how
// long.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package connections

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

// Spec bounds what each proxy takes of clients' connections. Fields that are not stated bound nothing.
type Spec struct {
	// Max is how many connections are open at a time. Each HTTPS listener counts its own; HTTP listeners of one port count
	// together. The next connection is closed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	Max *int64 `json:"max,omitempty"`
	// CloseDelay is how long a connection above the limit stays open before it is closed. This slows down clients that
	// reconnect at once. Default: it is closed at once.
	// +optional
	CloseDelay *gatewayv1.Duration `json:"closeDelay,omitempty"`
	// MaxDuration is how long a connection takes requests. Then it is closed when those under way have ended.
	// +optional
	MaxDuration *gatewayv1.Duration `json:"maxDuration,omitempty"`
	// MaxRequestsPerConnection is how many requests a connection takes. Then it is closed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	MaxRequestsPerConnection *int64 `json:"maxRequestsPerConnection,omitempty"`
	// MaxStreamDuration bounds a request with its answer however much is sent, also one that goes on for ever, such as a
	// WebSocket. A TrafficPolicy's timeouts.stream counts in its place.
	// +optional
	MaxStreamDuration *gatewayv1.Duration `json:"maxStreamDuration,omitempty"`
}

// Value is the bounds as read; nil: nothing is stated.
type Value struct {
	Max, MaxRequests              *uint32
	CloseDelay, Duration, Streams *time.Duration
}

// Feature is how many connections listeners take, and for how long.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "connections", Schema: schema, Levels: extend.AtListener, OnInvalid: extend.Keep,
	ServedAt: map[string]extend.ConnectionKinds{
		"max": extend.OverStreams, "closeDelay": extend.OverStreams, "maxDuration": extend.OverStreams,
	},
	Read: readSpec, Renders: renders,
}

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		Max: readCount(r, "max", s.Max), MaxRequests: readCount(r, "maxRequestsPerConnection", s.MaxRequestsPerConnection),
		CloseDelay: readDuration(r, "closeDelay", s.CloseDelay, 0),
		Duration:   readDuration(r, "maxDuration", s.MaxDuration, time.Millisecond),
		Streams:    readDuration(r, "maxStreamDuration", s.MaxStreamDuration, time.Millisecond),
	}
	if v.CloseDelay != nil && v.Max == nil {
		r.Field("closeDelay").Refuse("it has no effect without max; state max, or remove it")
	}
	return v
}

func readCount(r extend.Reader, field string, n *int64) *uint32 {
	if n == nil {
		return nil
	}
	if *n < 1 || *n > 1<<32-1 {
		r.Field(field).Refuse("it is not a number from 1 to 4294967295")
		return nil
	}
	return new(uint32(*n))
}

// readDuration reads a duration that is not shorter than least.
func readDuration(r extend.Reader, field string, text *gatewayv1.Duration, least time.Duration) *time.Duration {
	if text == nil {
		return nil
	}
	d, err := extend.Duration(*text)
	if err == nil && d < least {
		err = fmt.Errorf("%s is too short; write %s at least, or take it out", *text, least)
	}
	if err != nil {
		r.Field(field).Refuse(err.Error())
		return nil
	}
	return &d
}
