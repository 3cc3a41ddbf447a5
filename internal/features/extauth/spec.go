package extauth

import (
	"k8s.io/apimachinery/pkg/api/resource"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// Spec asks a server whether a request may pass. It is asked after tokens, keys, passwords and `authorization`, so only
// about requests that may pass otherwise. It counts as a whole. The server of an HTTPRoute's own ExternalAuth filter is
// asked besides: both must allow.
//
// +structType=atomic
type Spec struct {
	// GRPC speaks Envoy's protocol envoy.service.auth.v3. The server also gets the claims of accepted tokens and the name
	// of the user, in metadata_context.
	// +optional
	GRPC *extend.Empty `json:"grpc,omitempty"`
	// HTTP sends the server a request with the same method and Host: the status 200 allows, 5xx is a failure, any other
	// answer goes to the client. {} sends the request's own path.
	// +optional
	HTTP *HTTP `json:"http,omitempty"`
	// BackendRef is the server. One in another namespace needs a ReferenceGrant from this policy's kind.
	// +optional
	// +structType=atomic
	BackendRef *gatewayv1.BackendObjectReference `json:"backendRef,omitempty"`
	// Timeout is how long the server has to answer. Default: 10s.
	// +optional
	Timeout *gatewayv1.Duration `json:"timeout,omitempty"`
	// Headers are those of the request that the server gets. By HTTP it gets Host, Authorization and Content-Length
	// besides. Default: by gRPC all, by HTTP no others.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Headers []string `json:"headers,omitempty"`
	// Body has the server get the request's body; it is read whole before the server is asked. The server gets none of a
	// WebSocket. Rules of GRPCRoutes can't have it: their messages may never end. Default: none goes.
	// +optional
	Body *Body `json:"body,omitempty"`
	// OnFailure is what becomes of requests while the server can't be asked, does not answer in time, or answers 5xx.
	// Default: Deny.
	// +optional
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// StatusOnFailure is the status of the answer if they are denied. Default: 403.
	// +optional
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=599
	StatusOnFailure *int32 `json:"statusOnFailure,omitempty"`
	// Context is told to the server about requests of this policy: by gRPC in metadata_context, under the name
	// cardea.dev/context; by HTTP each as a header of that name.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Context map[string]Text `json:"context,omitempty"`
	// Mode Shadow refuses nothing: what would be refused is counted (envoy_shadow_denied) and logged (shadow). Nothing
	// stated: Enforce.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// When says about which requests the server is asked: those of any of the matches. Others pass. Default: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	When []extend.RequestMatch `json:"when,omitempty"`
}

// HTTP is how a server is asked by HTTP.
//
// +structType=atomic
type HTTP struct {
	// Path is the path that the server is asked, whatever the request's is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
	// PathPrefix stands before the request's path.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	PathPrefix string `json:"pathPrefix,omitempty"`
	// HeadersToBackend are headers of the server's answer that the backend gets. If clients send these headers, the proxy
	// removes them, unless the server gets them (headers). Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	HeadersToBackend []string `json:"headersToBackend,omitempty"`
	// HeadersToClient are the headers that the client gets from an answer that denies, besides Content-Type. Default:
	// Location, Set-Cookie and WWW-Authenticate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	HeadersToClient []string `json:"headersToClient,omitempty"`
	// HeadersToClientOnAllow are the headers of an answer that allows, such as Set-Cookie, that are added to the backend's
	// answer to the client. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	HeadersToClientOnAllow []string `json:"headersToClientOnAllow,omitempty"`
}

// Body is what the server gets of bodies.
//
// +structType=atomic
type Body struct {
	// MaxSize is how much goes to the server, 1 byte to 1Gi. A request with a larger body is answered with 413.
	MaxSize resource.Quantity `json:"maxSize"`
	// AllowPartial has the server get the first MaxSize bytes of a larger body.
	// +optional
	AllowPartial *bool `json:"allowPartial,omitempty"`
}

// Text is a value of the context.
// +kubebuilder:validation:MaxLength=1024
type Text string

// OnFailure says what becomes of requests while a server can't be asked.
// +kubebuilder:validation:Enum=Deny;Allow
type OnFailure string

// The values of OnFailure.
const (
	Deny  OnFailure = "Deny"
	Allow OnFailure = "Allow"
)

// Mode says what becomes of what is refused.
// +kubebuilder:validation:Enum=Enforce;Shadow
type Mode string

// The modes.
const (
	Enforce Mode = "Enforce"
	Shadow  Mode = "Shadow"
)
