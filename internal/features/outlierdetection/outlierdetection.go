// Package outlierdetection is the feature `outlierDetection` of a BackendPolicy: endpoints that fail get no requests
// for a while.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package outlierdetection

import (
	_ "embed"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says when an endpoint is ejected: it gets no requests for a while. Each proxy counts by itself. {} states what
// counts where nothing else is stated.
type Spec struct {
	// Consecutive5xx is how many answers in a row with a status from 500 on, or failed connections, eject an endpoint; 0:
	// none. Nothing stated: 5.
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
	// It needs splitLocal. Nothing stated: 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	ConsecutiveLocalFailures *int32 `json:"consecutiveLocalFailures,omitempty"`
	// SplitLocal counts failures that the proxy sees by itself (no connection, a reset, no answer in time) apart from
	// statuses of the backend.
	// +optional
	SplitLocal *bool `json:"splitLocal,omitempty"`
	// Interval is the time between two looks at which endpoints come back, and at failurePercentage. Nothing stated: 10s.
	// +optional
	Interval *gatewayv1.Duration `json:"interval,omitempty"`
	// EjectionTime is how long an endpoint gets no requests. It is multiplied with how often the endpoint was ejected, up
	// to 5m. Nothing stated: 30s.
	// +optional
	EjectionTime *gatewayv1.Duration `json:"ejectionTime,omitempty"`
	// MaxEjected is how many percent of the endpoints may be ejected at a time. Nothing stated: 10, and see alwaysOne.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxEjected *int32 `json:"maxEjected,omitempty"`
	// AlwaysOne lets one endpoint be ejected whatever maxEjected says; of fewer than ten endpoints, one is more than 10
	// percent. Nothing stated: true.
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

// consecutive is how many failures eject an endpoint where nothing is stated.
const consecutive = 5

// Feature takes requests away from endpoints that fail, for a while.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "outlierDetection", Schema: schema, Levels: extend.AtBackend,
	OnInvalid: extend.Keep, Read: read, Envoy: extend.EnvoyFuncs[Value]{Backend: render},
}

func read(r extend.Reader, s Spec) Value {
	v := Value{
		Consecutive5xx: new(uint32(consecutive)), GatewayErrors: number(s.ConsecutiveGatewayErrors),
		FailurePercentage: number(s.FailurePercentage), MaxEjected: number(s.MaxEjected),
		SplitLocal: s.SplitLocal != nil && *s.SplitLocal, AlwaysOne: s.AlwaysOne == nil || *s.AlwaysOne,
		Interval:     extend.ReadDuration(r.Field("interval"), s.Interval, time.Millisecond),
		EjectionTime: extend.ReadDuration(r.Field("ejectionTime"), s.EjectionTime, time.Millisecond),
	}
	if s.Consecutive5xx != nil {
		v.Consecutive5xx = number(s.Consecutive5xx)
		if *v.Consecutive5xx == 0 {
			v.Consecutive5xx = nil
		}
	}
	v.LocalFailures = number(s.ConsecutiveLocalFailures)
	if v.LocalFailures != nil && !v.SplitLocal {
		v.LocalFailures = nil
		r.Field("consecutiveLocalFailures").Refuse("such failures are counted apart only with splitLocal: true; state " +
			"that, or leave this field out")
	}
	return v
}

func number(n *int32) *uint32 {
	if n == nil {
		return nil
	}
	return new(uint32(*n))
}

// render states whether each reason to eject counts: Envoy has some on by itself, and others off.
func render(e extend.EnvoyBackend, v Value) {
	e.Cluster(&clusterv3.Cluster{OutlierDetection: &clusterv3.OutlierDetection{
		Consecutive_5Xx:                    extend.ProtoNumber(v.Consecutive5xx),
		EnforcingConsecutive_5Xx:           enforced(v.Consecutive5xx),
		ConsecutiveGatewayFailure:          extend.ProtoNumber(v.GatewayErrors),
		EnforcingConsecutiveGatewayFailure: enforced(v.GatewayErrors),
		ConsecutiveLocalOriginFailure:      extend.ProtoNumber(v.LocalFailures),
		FailurePercentageThreshold:         extend.ProtoNumber(v.FailurePercentage),
		EnforcingFailurePercentage:         enforced(v.FailurePercentage),
		EnforcingSuccessRate:               enforced(nil),
		EnforcingLocalOriginSuccessRate:    enforced(nil),
		SplitExternalLocalOriginErrors:     v.SplitLocal,
		Interval:                           extend.ProtoDuration(v.Interval),
		BaseEjectionTime:                   extend.ProtoDuration(v.EjectionTime),
		MaxEjectionPercent:                 extend.ProtoNumber(v.MaxEjected),
		AlwaysEjectOneHost:                 wrapperspb.Bool(v.AlwaysOne),
	}})
}

// enforced is the chance by which what was detected ejects: always, or never.
func enforced(threshold *uint32) *wrapperspb.UInt32Value {
	if threshold == nil {
		return wrapperspb.UInt32(0)
	}
	return wrapperspb.UInt32(100)
}
