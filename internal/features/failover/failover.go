// Package failover is the feature `failover` of a BackendPolicy: who gets the requests of an InferencePool that has no
// endpoint.
//
// It owns the field. Routes lead to that backend in place of the pool, which package backend sees to: no proxy knows of
// it. It must never know how policies are attached. Start reading at Feature.
package failover

import (
	_ "embed"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec is who gets the requests of an InferencePool while none of its pods is ready. It counts as a whole.
//
// +structType=atomic
type Spec struct {
	// BackendRef names an XBackend, or a Service and its port. One of another namespace needs a ReferenceGrant for
	// BackendPolicies.
	BackendRef gatewayv1.BackendObjectReference `json:"backendRef"`
}

// Value is that backend.
type Value struct{ Backend extend.BackendKey }

// Feature is who gets the requests of a pool without endpoints.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "failover", Schema: schema, Levels: extend.AtPool, OnInvalid: extend.Keep,
	Effect: extend.FailsOver, Read: readSpec, Renders: renders, // the pool's cluster stays as it is
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	v.Backend, _ = r.Field("backendRef").Backend(s.BackendRef)
	return v
}
