// Package loadbalancer is the feature `loadBalancer` of a BackendPolicy: which endpoint of a backend gets a request.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package loadbalancer

import (
	_ "embed"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says how the endpoint of a request is chosen: one of leastRequest, roundRobin, random, ringHash and maglev. It
// counts as a whole. Default: roundRobin.
//
// +structType=atomic
type Spec struct {
	// LeastRequest chooses some endpoints at random, and of those the one with the fewest requests under way.
	// +optional
	LeastRequest *LeastRequest `json:"leastRequest,omitempty"`
	// RoundRobin takes one endpoint after the other; each worker of a proxy does by itself.
	// +optional
	RoundRobin *extend.Empty `json:"roundRobin,omitempty"`
	// Random takes any endpoint.
	// +optional
	Random *extend.Empty `json:"random,omitempty"`
	// RingHash gives requests with equal keys to one endpoint. If endpoints come or go, few keys move to another one.
	// +optional
	RingHash *RingHash `json:"ringHash,omitempty"`
	// Maglev does the same by a table: it is faster than a ring, and moves somewhat more keys.
	// +optional
	Maglev *Maglev `json:"maglev,omitempty"`
	// Hash lists the keys of ringHash and maglev: the first counts that a request has. A request without any gets any
	// endpoint.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Hash []extend.HashKey `json:"hash,omitempty"`
	// BoundedLoad is how many percent of the average an endpoint's requests may be; the next one goes to another endpoint.
	// It is for ringHash and maglev.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=10000
	BoundedLoad *int32 `json:"boundedLoad,omitempty"`
}

// LeastRequest chooses the endpoint with the fewest requests.
type LeastRequest struct {
	// Choices is how many endpoints are compared. Default: 2.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1000
	Choices *int32 `json:"choices,omitempty"`
}

// RingHash places endpoints on a ring.
type RingHash struct {
	// MinSize is how many places the ring has at least. Default: 1024, or maxSize if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8388608
	MinSize *int32 `json:"minSize,omitempty"`
	// MaxSize is how many places it has at most. Default: 8388608.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8388608
	MaxSize *int32 `json:"maxSize,omitempty"`
}

// Maglev places endpoints in a table.
type Maglev struct {
	// TableSize is how many places the table has: a prime number. Default: 65537.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=5000011
	TableSize *int32 `json:"tableSize,omitempty"`
}

// Feature is which endpoint of a backend gets a request.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "loadBalancer", Schema: schema, Levels: extend.AtBackend, OnInvalid: extend.Keep,
	ServedAt: map[string]extend.ConnectionKinds{
		"leastRequest": extend.OverStreams, "roundRobin": extend.OverStreams, "random": extend.OverStreams,
	},
	Read: readSpec, Renders: renders, Describe: describeValue,
}
