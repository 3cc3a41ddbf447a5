// Package clienttimeouts is the feature `timeouts` of a ClientPolicy: how long listeners wait for clients.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package clienttimeouts

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

// Spec bounds how long listeners wait for clients. 0s is no bound.
type Spec struct {
	// Idle is how long a connection without requests stays open; 1h if it is not stated.
	// +optional
	Idle *gatewayv1.Duration `json:"idle,omitempty"`
	// RequestHeaders bounds how long it may take to receive the headers of a request, from its first byte; 10s if it is
	// not stated. Then the client gets 408.
	// +optional
	RequestHeaders *gatewayv1.Duration `json:"requestHeaders,omitempty"`
	// Request bounds how long it may take to receive a request, its body included; no bound if it is not stated. Then the
	// client gets 408.
	// +optional
	Request *gatewayv1.Duration `json:"request,omitempty"`
	// StreamIdle bounds how long neither side of a request may send anything; no bound if it is not stated. Then the
	// request ends. A TrafficPolicy's timeouts.streamIdle counts in its place.
	// +optional
	StreamIdle *gatewayv1.Duration `json:"streamIdle,omitempty"`
	// Inspection bounds how long a new connection may take to show what decides on its listener: the name of the host in
	// TLS, the header of the PROXY protocol; 10s of TLS if it is not stated. Then it is closed. All listeners of a port
	// have the same one.
	// +optional
	Inspection *gatewayv1.Duration `json:"inspection,omitempty"`
}

// Value is the times as read; nil: nothing is stated.
type Value struct {
	Idle, RequestHeaders, Request, StreamIdle, Inspection *time.Duration
}

// Feature is how long listeners wait for clients.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "timeouts", Schema: schema, Levels: extend.AtListener, OnInvalid: extend.Keep,
	PortFields: []string{"inspection"},
	ServedAt: map[string]extend.ConnectionKinds{
		"idle":       extend.OverStreams | extend.OverUDP,
		"inspection": extend.OverStreams,
	},
	Read: readSpec, Renders: renders,
}

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		Idle: readDuration(r, "idle", s.Idle), RequestHeaders: readDuration(r, "requestHeaders", s.RequestHeaders),
		Request: readDuration(r, "request", s.Request), StreamIdle: readDuration(r, "streamIdle", s.StreamIdle),
		Inspection: readDuration(r, "inspection", s.Inspection),
	}
	if v.Idle != nil && *v.Idle == 0 && r.Location().Connections == extend.OverUDP {
		r.Field("idle").Refuse("clients don't close UDP sessions, so these have to end; write how long they may be idle")
		v.Idle = nil
	}
	if isPositive(v.Request) && isPositive(v.RequestHeaders) && *v.RequestHeaders > *v.Request {
		r.Field("requestHeaders").Warn(fmt.Sprintf("it is %s, longer than the whole request may take (request: %s)",
			*s.RequestHeaders, *s.Request))
	}
	return v
}

func readDuration(r extend.Reader, field string, text *gatewayv1.Duration) *time.Duration {
	if text == nil {
		return nil
	}
	d, err := extend.Duration(*text)
	if err != nil {
		r.Field(field).Refuse(err.Error())
		return nil
	}
	return &d
}

func isPositive(d *time.Duration) bool { return d != nil && *d > 0 }
