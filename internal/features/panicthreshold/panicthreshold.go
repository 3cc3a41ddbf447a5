// Package panicthreshold is the feature `panicThreshold` of a BackendPolicy: when a backend's failing endpoints get
// requests all the same.
//
// It owns the field and what Envoy makes of it. It must never know how policies are attached. Start reading at Feature.
package panicthreshold

import (
	_ "embed"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec is a percentage of endpoints, 50 if it is not stated. If fewer are healthy, all of them get requests; with 0
// only healthy ones ever do.
//
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=100
type Spec int32

// Feature is when failing endpoints get requests all the same.
var Feature = extend.Feature[Spec, Spec]{
	Kind: extend.BackendPolicy, Name: "panicThreshold", Schema: schema, Levels: extend.AtBackend, OnInvalid: extend.Keep,
	ServedAt: map[string]extend.ConnectionKinds{"": extend.OverStreams},
	Read:     func(_ extend.Reader, s Spec) Spec { return s }, Renders: renders,
}
