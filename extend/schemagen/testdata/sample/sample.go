// Package sample has the spec of a feature as features write theirs.
package sample

import (
	"k8s.io/apimachinery/pkg/api/resource"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Spec has a field of every sort.
type Spec struct {
	// Timeout of a request. A description is kept whole, however long it is, also behind a name with a full stop in it, such
	// as headers.request.remove of a policy, e.g. one that has more than the 200 characters that are kept of others.
	// +optional
	Timeout *gatewayv1.Duration `json:"timeout,omitempty"`
	// Size of a body.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// Share of requests.
	// +optional
	Share *gatewayv1.Fraction `json:"share,omitempty"`
	// Codes are statuses.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Codes []int32 `json:"codes,omitempty"`
	// Providers by name.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Providers []Provider `json:"providers,omitempty"`
}

// Provider is an element of a list.
type Provider struct {
	// Name tells it from others.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Keys of it.
	// +optional
	Keys *Keys `json:"keys,omitempty"`
}

// Keys are in one of several places.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
// +structType=atomic
type Keys struct {
	// SecretRef names a Secret.
	// +optional
	SecretRef *gatewayv1.SecretObjectReference `json:"secretRef,omitempty"`
	// BackendRef names a backend that is asked.
	// +optional
	BackendRef *gatewayv1.BackendObjectReference `json:"backendRef,omitempty"`
}
