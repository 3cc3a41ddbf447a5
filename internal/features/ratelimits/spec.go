package ratelimits

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// Spec are limits with names. The limits of several policies are added up; if two have one name, the fields of the
// narrower policy count.
//
// +listType=map
// +listMapKey=name
// +kubebuilder:validation:MaxItems=32
type Spec []Limit

// Limit is how many requests pass in a time. A request over it gets 429 with Retry-After, a gRPC call
// RESOURCE_EXHAUSTED. Each port has a count of its own (for HTTPS, each listener): at two ports twice as many pass.
type Limit struct {
	// Name of the limit.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// When says which requests count: those of any match. Default: all. A request for which an expression of a
	// match can't be evaluated does not count by it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	When []extend.RequestMatch `json:"when,omitempty"`
	// Per tells requests apart: each combination of values has a counter; absent says what counts in place of a value that
	// a request does not have. Default: one counter for all. If there are more than 10000 counters, the one that
	// was not used for the longest time starts again.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Per []extend.RequestDimension `json:"per,omitempty"`
	// Absent says which counter a request uses if it does not have the value: no user, claim, header, cookie or query
	// parameter of that name. ClientAddress: a counter for each client address (for IPv6, for each /64 network), so no
	// client uses up the limit of others. Together: one counter for all such requests. An empty value is a value.
	// Default: ClientAddress.
	// +optional
	Absent Absent `json:"absent,omitempty"`
	// Requests that pass in an interval, at each port; of HTTPS, at each listener.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Requests *int64 `json:"requests,omitempty"`
	// Interval in which that many requests pass, at least 50ms. It does not start at a fixed time: the allowance grows
	// continuously.
	// +optional
	Interval *gatewayv1.Duration `json:"interval,omitempty"`
	// Burst is how many can pass at once. Default: requests.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Burst *int64 `json:"burst,omitempty"`
	// Unlimited lifts a limit that a broader policy states under this name.
	// +optional
	Unlimited *bool `json:"unlimited,omitempty"`
	// Scope says which proxies share the limit. Gateway: each proxy of the Gateway allows its share, so burst must be at
	// least the number of proxies. Proxy: each proxy allows the whole limit. Default: Gateway.
	// +optional
	Scope Scope `json:"scope,omitempty"`
	// Count says which rules count together: all that the policy reaches, or each for itself. Default: Together.
	// +optional
	Count Count `json:"count,omitempty"`
	// Cost is how many requests a request counts for. Default: one.
	// +optional
	Cost *Cost `json:"cost,omitempty"`
	// At says when requests are counted. Default: after authentication if per or when need to know who sent the
	// request, else before, so that authentication is protected, too.
	// +optional
	At At `json:"at,omitempty"`
	// Mode Shadow lets all pass; what is over the limit is counted in Envoy's metrics (http_local_rate_limit.shadow_mode).
	// Default: Enforce.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// Headers DraftVersion03 tells clients of the limit, in X-RateLimit-Limit, -Remaining and -Reset. Default: Off.
	// +optional
	Headers Headers `json:"headers,omitempty"`
	// Status of the answer to what is over the limit. Default: 429; Envoy has no other.
	// +optional
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=599
	Status *int32 `json:"status,omitempty"`
}

// Cost is how many requests a request counts for.
type Cost struct {
	// Request is what it costs before it is answered.
	// +optional
	Request *CostSource `json:"request,omitempty"`
}

// CostSource is where a cost is taken from.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type CostSource struct {
	// Number is the cost itself.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Number *int64 `json:"number,omitempty"`
}

// Scope says who counts together.
// +kubebuilder:validation:Enum=Proxy;Gateway;Global
type Scope string

// The scopes of a Limit.
const (
	Proxy   Scope = "Proxy"
	Gateway Scope = "Gateway"
	Global  Scope = "Global"
)

// Absent says what counts in place of a value that a request does not have.
// +kubebuilder:validation:Enum=ClientAddress;Together
type Absent string

// The values of Limit.Absent.
const (
	ByClientAddress Absent = "ClientAddress"
	AllTogether     Absent = "Together"
)

// Count says which rules count together.
// +kubebuilder:validation:Enum=Together;EachRule
type Count string

// The ways to count.
const (
	Together Count = "Together"
	EachRule Count = "EachRule"
)

// At says when requests are counted.
// +kubebuilder:validation:Enum=BeforeAuthentication;AfterAuthentication
type At string

// The values of Limit.At.
const (
	BeforeAuthentication At = "BeforeAuthentication"
	AfterAuthentication  At = "AfterAuthentication"
)

// Mode says what becomes of what is over a limit.
// +kubebuilder:validation:Enum=Enforce;Shadow
type Mode string

// The modes of a Limit.
const (
	Enforce Mode = "Enforce"
	Shadow  Mode = "Shadow"
)

// Headers are what clients are told of a limit.
// +kubebuilder:validation:Enum=Off;DraftVersion03
type Headers string

// The values of Limit.Headers.
const (
	Off            Headers = "Off"
	DraftVersion03 Headers = "DraftVersion03"
)
