// Package outlierdetection is the feature `outlierDetection` of a BackendPolicy: endpoints that fail get no requests
// for a while.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package outlierdetection

import (
	_ "embed"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says when an endpoint is ejected: it gets no requests for a while. Each proxy counts by itself. {} sets
// the defaults.
type Spec struct {
	// Consecutive5xx is how many answers in a row with a status from 500 on, or failed connections, eject an endpoint; 0:
	// none. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Consecutive5xx *int32 `json:"consecutive5xx,omitempty"`
	// ConsecutiveGatewayErrors is how many answers in a row with 502, 503 or 504 eject an endpoint, beside consecutive5xx.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	ConsecutiveGatewayErrors *int32 `json:"consecutiveGatewayErrors,omitempty"`
	// ConsecutiveLocalFailures is how many failures in a row to connect to an endpoint or to get an answer of it eject it.
	// It needs splitLocal. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	ConsecutiveLocalFailures *int32 `json:"consecutiveLocalFailures,omitempty"`
	// SplitLocal counts failures that the proxy sees by itself (no connection, a reset, no answer in time) apart from
	// statuses of the backend.
	// +optional
	SplitLocal *bool `json:"splitLocal,omitempty"`
	// Interval is the time between two looks at which endpoints come back, and at failurePercentage. Default: 10s.
	// +optional
	Interval *gatewayv1.Duration `json:"interval,omitempty"`
	// EjectionTime is how long an endpoint gets no requests. It is multiplied with how often the endpoint was ejected, up
	// to 5m. Default: 30s.
	// +optional
	EjectionTime *gatewayv1.Duration `json:"ejectionTime,omitempty"`
	// MaxEjected is how many percent of the endpoints may be ejected at a time. Default: 10, and see alwaysOne.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxEjected *int32 `json:"maxEjected,omitempty"`
	// AlwaysOne lets one endpoint be ejected whatever maxEjected says; of fewer than ten endpoints, one is more than 10
	// percent. Default: true.
	// +optional
	AlwaysOne *bool `json:"alwaysOne,omitempty"`
	// FailurePercentage is how many percent of an endpoint's answers in an interval have to fail to eject it. It counts
	// where five endpoints or more got 50 requests in the interval each.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailurePercentage *int32 `json:"failurePercentage,omitempty"`
}

// Value is the fields as read; nil: never, or what Envoy has.
type Value struct {
	Consecutive5xx, GatewayErrors, LocalFailures *uint32
	FailurePercentage, MaxEjected                *uint32
	SplitLocal, AlwaysOne                        bool
	Interval, EjectionTime                       *time.Duration
}

// defaultConsecutive is how many failures eject an endpoint where nothing is stated.
const defaultConsecutive = 5

// Feature takes requests away from endpoints that fail, for a while.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "outlierDetection", Schema: schema, Levels: extend.AtBackend,
	OnInvalid: extend.Keep, ServedAt: map[string]extend.ConnectionKinds{"": extend.OverStreams},
	Read: readSpec, Renders: renders,
}

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		Consecutive5xx: new(uint32(defaultConsecutive)), GatewayErrors: toUint32(s.ConsecutiveGatewayErrors),
		FailurePercentage: toUint32(s.FailurePercentage), MaxEjected: toUint32(s.MaxEjected),
		SplitLocal: s.SplitLocal != nil && *s.SplitLocal, AlwaysOne: s.AlwaysOne == nil || *s.AlwaysOne,
		Interval:     extend.ReadDuration(r.Field("interval"), s.Interval, time.Millisecond),
		EjectionTime: extend.ReadDuration(r.Field("ejectionTime"), s.EjectionTime, time.Millisecond),
	}
	if s.Consecutive5xx != nil {
		v.Consecutive5xx = toUint32(s.Consecutive5xx)
		if *v.Consecutive5xx == 0 {
			v.Consecutive5xx = nil
		}
	}
	v.LocalFailures = toUint32(s.ConsecutiveLocalFailures)
	if v.LocalFailures != nil && !v.SplitLocal {
		v.LocalFailures = nil
		r.Field("consecutiveLocalFailures").Refuse("such failures are counted separately only with splitLocal: true; " +
			"state that, or leave this field out")
	}
	return v
}

func toUint32(n *int32) *uint32 {
	if n == nil {
		return nil
	}
	return new(uint32(*n))
}
