package jwt

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// Spec asks for a token (JWT, RFC 7519) that one of the providers has signed.
type Spec struct {
	// Mode says what becomes of requests without an accepted token. Strict: 401. Optional: 401 for a token that is not
	// accepted; none is fine. Permissive: all pass, and only accepted tokens have claims. Default: Strict.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// Use names the providers that count. Default: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Use []string `json:"use,omitempty"`
	// Providers are those who make tokens. Those of broader levels count, too, whatever their names.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Providers []Provider `json:"providers,omitempty"`
}

// Mode says what becomes of requests without an accepted token.
// +kubebuilder:validation:Enum=Strict;Optional;Permissive
type Mode string

// The modes.
const (
	Strict     Mode = "Strict"
	Optional   Mode = "Optional"
	Permissive Mode = "Permissive"
)

// Provider is who makes tokens.
type Provider struct {
	// Name by which rules and other features know the provider.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Issuer is what a token's claim iss must be.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Issuer string `json:"issuer,omitempty"`
	// Audiences: a token's claim aud must have one of these. Default: any.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Audiences []string `json:"audiences,omitempty"`
	// Subjects is what a token's claim sub must be. Default: any.
	// +optional
	Subjects *extend.StringMatch `json:"subjects,omitempty"`
	// JWKS are the provider's public keys (RFC 7517).
	// +optional
	JWKS *KeySet `json:"jwks,omitempty"`
	// From says where the token stands. Default: the header Authorization, with "Bearer " before the token.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	From []TokenSource `json:"from,omitempty"`
	// ClaimsToHeaders are headers in which the backend gets claims of an accepted token. If clients send these headers,
	// the proxy removes them.
	// +optional
	// +listType=map
	// +listMapKey=header
	// +kubebuilder:validation:MaxItems=32
	ClaimsToHeaders []ClaimHeader `json:"claimsToHeaders,omitempty"`
	// Forward leaves an accepted token in the request. Default: the backend does not get it.
	// +optional
	Forward *bool `json:"forward,omitempty"`
	// ClockSkew is how much the provider's clock may differ; 60s if nothing is stated.
	// +optional
	ClockSkew *gatewayv1.Duration `json:"clockSkew,omitempty"`
	// RequireExpiration refuses tokens without the claim exp. Default: true.
	// +optional
	RequireExpiration *bool `json:"requireExpiration,omitempty"`
	// MaxLifetime is the longest time for which a token may be made. Default: any.
	// +optional
	MaxLifetime *gatewayv1.Duration `json:"maxLifetime,omitempty"`
}

// KeySet says where public keys stand.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type KeySet struct {
	// Inline is the text of a key set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Inline *string `json:"inline,omitempty"`
	// ConfigMapRef names an entry of a ConfigMap that is a key set.
	// +optional
	ConfigMapRef *extend.ConfigMapKey `json:"configMapRef,omitempty"`
	// SecretRef names a Secret. Its entry jwks is a key set.
	// +optional
	SecretRef *gatewayv1.SecretObjectReference `json:"secretRef,omitempty"`
	// Remote is a key set that is fetched.
	// +optional
	Remote *Remote `json:"remote,omitempty"`
}

// Remote is a key set that is fetched over HTTP.
//
// +structType=atomic
type Remote struct {
	// URL of the key set: what the provider's discovery document calls jwks_uri. It should be https.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`
	// BackendRef is the backend that is asked for it, with the host of the URL in the header Host, over TLS if a
	// BackendTLSPolicy says so. Default: the URL's host is asked.
	// +optional
	BackendRef *gatewayv1.BackendObjectReference `json:"backendRef,omitempty"`
	// Refresh is the time after which it is fetched again, 1s at least; 5m if nothing is stated. The keys that were
	// fetched last are used until then, and for as long as they can't be fetched.
	// +optional
	Refresh *gatewayv1.Duration `json:"refresh,omitempty"`
	// FetchedBy says who fetches it: the Controller, once for all proxies, or each Proxy, which needs backendRef. Nothing
	// stated: the Controller. A proxy opens the port of a new listener when it has the keys, or a fetch failed.
	// +optional
	FetchedBy Fetcher `json:"fetchedBy,omitempty"`
}

// Fetcher is who fetches a key set.
// +kubebuilder:validation:Enum=Controller;Proxy
type Fetcher string

// The fetchers.
const (
	ByController Fetcher = "Controller"
	ByProxy      Fetcher = "Proxy"
)

// TokenSource is a place in a request where a token can stand.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type TokenSource struct {
	// Header is a header.
	// +optional
	Header *HeaderSource `json:"header,omitempty"`
	// Query is the name of a query parameter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Query *string `json:"query,omitempty"`
	// Cookie is the name of a cookie.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cookie *string `json:"cookie,omitempty"`
}

// HeaderSource is a header with a token in it.
type HeaderSource struct {
	// Name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Prefix is what stands before the token: "Bearer ".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Prefix string `json:"prefix,omitempty"`
}

// ClaimHeader is a header that has a claim.
type ClaimHeader struct {
	// Header is the name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header string `json:"header"`
	// Claim is the name of the claim, with dots between the names of nested claims; a dot in a name is written with a
	// backslash before it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Claim string `json:"claim,omitempty"`
}
