// Package connection is the feature `connection` of a BackendPolicy: how proxies keep connections to a backend.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package connection

import (
	_ "embed"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec is how connections to a backend are opened and closed.
type Spec struct {
	// ConnectTimeout bounds how long it may take to open a connection, TLS included; 5s if it is not stated.
	// +optional
	ConnectTimeout *gatewayv1.Duration `json:"connectTimeout,omitempty"`
	// Idle is how long a connection without requests stays open; 1h if it is not stated, 0s for ever.
	// +optional
	Idle *gatewayv1.Duration `json:"idle,omitempty"`
	// MaxDuration is how long a connection takes requests.
	// +optional
	MaxDuration *gatewayv1.Duration `json:"maxDuration,omitempty"`
	// MaxRequests is how many requests a connection takes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	MaxRequests *int64 `json:"maxRequests,omitempty"`
	// BufferLimit is how much a proxy keeps of what was received on a connection and not yet sent; 32Ki if it is not
	// stated.
	// +optional
	BufferLimit *resource.Quantity `json:"bufferLimit,omitempty"`
	// Keepalive asks whether the backend is still there; after 60s, and then 3 times every 10s, if it is not stated.
	// +optional
	Keepalive *extend.Keepalive `json:"keepalive,omitempty"`
}

// Value is the fields as read; nil: nothing is stated.
type Value struct {
	ConnectTimeout, Idle, MaxDuration        *time.Duration
	MaxRequests, BufferLimit                 *uint32
	KeepaliveIdle, KeepaliveInterval, Probes *uint32 // the first two are in seconds
}

// Feature is how proxies keep connections to a backend.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "connection", Schema: schema, Levels: extend.AtBackend, OnInvalid: extend.Keep,
	ServedAt: map[string]extend.ConnectionKinds{
		"connectTimeout": extend.OverStreams, "bufferLimit": extend.OverStreams, "keepalive": extend.OverStreams,
	},
	Read: readSpec, Renders: renders,
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	v.ConnectTimeout = extend.ReadDuration(r.Field("connectTimeout"), s.ConnectTimeout, time.Millisecond)
	v.Idle = extend.ReadDuration(r.Field("idle"), s.Idle, 0)
	v.MaxDuration = extend.ReadDuration(r.Field("maxDuration"), s.MaxDuration, time.Millisecond)
	if s.MaxRequests != nil {
		v.MaxRequests = new(uint32(*s.MaxRequests))
	}
	if s.BufferLimit != nil {
		size, err := extend.Size32(*s.BufferLimit)
		switch {
		case err != nil:
			r.Field("bufferLimit").Refuse(err.Error())
		case size == 0: // which Envoy takes for no limit
			r.Field("bufferLimit").Refuse("it is 0; write 1Ki at least")
		default:
			v.BufferLimit = &size
		}
	}
	if k := s.Keepalive; k != nil {
		v.KeepaliveIdle = readSeconds(r.Field("keepalive.idle"), k.Idle)
		v.KeepaliveInterval = readSeconds(r.Field("keepalive.interval"), k.Interval)
		if k.Probes != nil {
			v.Probes = new(uint32(*k.Probes))
		}
	}
	return v
}

// maxSeconds is what Linux takes.
const maxSeconds = 32767 * time.Second

// readSeconds reads a duration that the kernel knows in whole seconds.
func readSeconds(r extend.Reader, text *gatewayv1.Duration) *uint32 {
	d := extend.ReadDuration(r, text, time.Second)
	switch {
	case d == nil:
		return nil
	case *d%time.Second != 0 || *d > maxSeconds:
		r.Refuse(fmt.Sprintf("%s is not a number of seconds from 1 to 32767", *text))
		return nil
	}
	return new(uint32(*d / time.Second))
}
