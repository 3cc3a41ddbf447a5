// Package limits is the feature `limits` of a BackendPolicy: how much proxies ask of a backend at a time.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package limits

import (
	_ "embed"

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
	// RetryBudget is how many of the requests that are under way may be retries. Default: a fifth of them, and 10.
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
	ServedAt: map[string]extend.ConnectionKinds{
		"connections": extend.OverStreams, "connectionsPerEndpoint": extend.OverStreams,
	},
	Read: readSpec, Renders: renders,
}

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		Connections:     readCountOr(r, "connections", s.Connections, unlimited),
		PendingRequests: readCountOr(r, "pendingRequests", s.PendingRequests, unlimited),
		Requests:        readCountOr(r, "requests", s.Requests, unlimited),
		RetryPercent:    retryPercent, MinRetries: minRetries,
		ConnectionsPerEndpoint: readCount(r, "connectionsPerEndpoint", s.ConnectionsPerEndpoint),
		Retries:                readCount(r, "retries", s.Retries),
	}
	b := s.RetryBudget
	if b == nil {
		return v
	}
	if v.Retries != nil {
		r.Field("retryBudget").Warn("it is ignored, because retries is stated")
	}
	v.MinRetries = readCountOr(r.Field("retryBudget"), "minConcurrent", b.MinConcurrent, minRetries)
	if b.Share != nil {
		if share, err := extend.Percent(*b.Share); err != nil {
			r.Field("retryBudget.share").Refuse(err.Error())
		} else {
			v.RetryPercent = float64(share) / 10_000
		}
	}
	return v
}

func readCountOr(r extend.Reader, field string, n *int64, otherwise uint32) uint32 {
	if read := readCount(r, field, n); read != nil {
		return *read
	}
	return otherwise
}

func readCount(r extend.Reader, field string, n *int64) *uint32 {
	if n == nil {
		return nil
	}
	if *n < 0 || *n > unlimited {
		r.Field(field).Refuse("it is not a number from 0 to 4294967295")
		return nil
	}
	return new(uint32(*n))
}
