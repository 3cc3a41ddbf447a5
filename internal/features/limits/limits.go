// Package limits is the feature `limits` of a BackendPolicy: how much proxies ask of a backend at a time.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package limits

import (
	_ "embed"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec bounds what each proxy asks of a backend at a time. Fields that are not stated limit nothing, except for
// retries.
type Spec struct {
	// Connections that are open. A request that would need one more waits for one that gets free.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	Connections *int64 `json:"connections,omitempty"`
	// PendingRequests that wait for a connection. The next is answered with 503.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	PendingRequests *int64 `json:"pendingRequests,omitempty"`
	// Requests that are under way. The next is answered with 503.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	Requests *int64 `json:"requests,omitempty"`
	// Retries that are under way, in place of retryBudget.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	Retries *int64 `json:"retries,omitempty"`
	// ConnectionsPerEndpoint that are open to each endpoint.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	ConnectionsPerEndpoint *int64 `json:"connectionsPerEndpoint,omitempty"`
	// RetryBudget is how many of the requests that are under way may be retries. Nothing stated: a fifth of them, and 10.
	// +optional
	RetryBudget *RetryBudget `json:"retryBudget,omitempty"`
}

// RetryBudget is a share of the requests that are under way.
type RetryBudget struct {
	// Share of the requests.
	// +optional
	// +structType=atomic
	Share *gatewayv1.Fraction `json:"share,omitempty"`
	// MinConcurrent is how many may be retries anyhow.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	MinConcurrent *int64 `json:"minConcurrent,omitempty"`
}

// Value is the limits as read.
type Value struct {
	Connections, PendingRequests, Requests uint32
	Retries                                *uint32 // nil: RetryPercent and MinRetries count
	RetryPercent                           float64
	MinRetries                             uint32
	ConnectionsPerEndpoint                 *uint32
}

// Defaults, for fields that are not stated (docs/adr/0003-envoy-settings.md).
const (
	unlimited    = 1<<32 - 1
	retryPercent = 20
	minRetries   = 10
)

// Feature is how much proxies ask of a backend at a time.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "limits", Schema: schema, Levels: extend.AtBackend, OnInvalid: extend.Keep,
	Read: read, Envoy: extend.EnvoyFuncs[Value]{Backend: render},
}

func read(r extend.Reader, s Spec) Value {
	v := Value{
		Connections:     count(r, "connections", s.Connections, unlimited),
		PendingRequests: count(r, "pendingRequests", s.PendingRequests, unlimited),
		Requests:        count(r, "requests", s.Requests, unlimited),
		RetryPercent:    retryPercent, MinRetries: minRetries,
		ConnectionsPerEndpoint: optional(r, "connectionsPerEndpoint", s.ConnectionsPerEndpoint),
		Retries:                optional(r, "retries", s.Retries),
	}
	b := s.RetryBudget
	if b == nil {
		return v
	}
	if v.Retries != nil {
		r.Field("retryBudget").Warn("retries is stated, which counts in its place")
	}
	v.MinRetries = count(r.Field("retryBudget"), "minConcurrent", b.MinConcurrent, minRetries)
	if b.Share != nil {
		if share, err := extend.Percent(*b.Share); err != nil {
			r.Field("retryBudget.share").Refuse(err.Error())
		} else {
			v.RetryPercent = float64(share.Numerator) / 10_000
		}
	}
	return v
}

func count(r extend.Reader, field string, n *int64, otherwise uint32) uint32 {
	if read := optional(r, field, n); read != nil {
		return *read
	}
	return otherwise
}

func optional(r extend.Reader, field string, n *int64) *uint32 {
	if n == nil {
		return nil
	}
	if *n < 0 || *n > unlimited {
		r.Field(field).Refuse("it is not a number from 0 to 4294967295")
		return nil
	}
	return new(uint32(*n))
}

func render(e extend.EnvoyBackend, v Value) {
	all := &clusterv3.CircuitBreakers_Thresholds{
		MaxConnections:     wrapperspb.UInt32(v.Connections),
		MaxPendingRequests: wrapperspb.UInt32(v.PendingRequests),
		MaxRequests:        wrapperspb.UInt32(v.Requests),
	}
	if v.Retries != nil {
		all.MaxRetries = wrapperspb.UInt32(*v.Retries)
	} else {
		all.RetryBudget = &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent: &typev3.Percent{Value: v.RetryPercent}, MinRetryConcurrency: wrapperspb.UInt32(v.MinRetries),
		}
	}
	breakers := &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{all}}
	if v.ConnectionsPerEndpoint != nil {
		breakers.PerHostThresholds = []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections: wrapperspb.UInt32(*v.ConnectionsPerEndpoint),
		}}
	}
	e.Cluster(&clusterv3.Cluster{CircuitBreakers: breakers})
}
