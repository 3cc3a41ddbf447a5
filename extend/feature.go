package extend

import gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

// Feature is one field of a policy. S is its spec, a struct as encoding/json reads it; V is what is made of that, plain
// data that encoding/json can write and read back.
//
// Most features state Kind, Name, Schema, Levels, OnInvalid, Read, Renders, and maybe Judge and Describe. Few need the
// rest. A literal names the fields of embedded structs as if they were Feature's own.
type Feature[S, V any] struct {
	Declaration
	// Read makes a value of an effective spec. Problems are told to the Reader.
	Read func(r Reader, effective S) V
	// Renders has how values are rendered, for each data plane that can serve them: extend/envoy.Render.
	Renders []Rendering[V]
	// Judge tells what a proxy does with a request because of the feature; nil: it can't be told. It is asked only where
	// the feature has filters.
	Judge func(q Request, v V) []Verdict
	// Describe tells of a value what matters to users, for explanations; nil: nothing but the fields.
	Describe func(v V) []string

	// RuleFields is what the fields of a route's rule state of the feature, which is narrower than any policy; nil: they
	// can't.
	RuleFields func(rule gatewayv1.HTTPRouteRule) (s S, stated bool)
	Identity[S, V]
	Agents Agents[V]
}

// Declaration is all of a feature that needs none of its types. What follows OnInvalid is for few features.
type Declaration struct {
	Kind string // the kind that has the field: SecurityPolicy, ..., or one of your own, "WAFPolicy.waf.example.com"
	// Name is the field: "jwt". The name of a feature that is not Cardea's own has a domain, "example.com/signing", and
	// stands under spec.extensions.
	Name string
	// Schema is the OpenAPI schema of S, as the command schemagen writes it. How values of several policies merge is said
	// there, in Kubernetes' words (x-kubernetes-map-type, x-kubernetes-list-type), and nowhere else. It has no defaults:
	// a default would count as stated, and replace what a broader policy states.
	Schema []byte
	Levels Levels
	// OnInvalid is what becomes of the requests concerned if the effective spec can't be served.
	OnInvalid OnInvalid

	// Protects: what a policy is for that states it may not be served while the policy can't be read (Kind.Protects).
	Protects bool
	Relations
	Requirements
	Listeners
	Connections
	Effect Effect
	// Unmerged: every level counts for itself; nil: narrower levels are merged into broader ones.
	Unmerged *Unmerged
}
