package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InferencePoolStatus says what became of a pool at each Gateway that sends requests to it.
type InferencePoolStatus struct {
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Parents []ParentStatus `json:"parents,omitempty"`
}

// ParentStatus says what became of a pool at one Gateway.
type ParentStatus struct {
	// Conditions are of the types Accepted, ResolvedRefs and Exported.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ParentRef is the Gateway.
	ParentRef ParentReference `json:"parentRef"`
	// ControllerName is the controller that wrote the entry.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$`
	ControllerName string `json:"controllerName,omitempty"`
}

// ParentReference names a Gateway.
type ParentReference struct {
	// +optional
	// +kubebuilder:default=gateway.networking.k8s.io
	// +kubebuilder:validation:MaxLength=253
	Group *string `json:"group,omitempty"`
	// +optional
	// +kubebuilder:default=Gateway
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// The types of conditions and their reasons.
const (
	ConditionAccepted           = "Accepted"
	ReasonAccepted              = "Accepted"
	ReasonNotSupportedByParent  = "NotSupportedByParent"
	ReasonHTTPRouteNotAccepted  = "HTTPRouteNotAccepted"
	ReasonEndpointPickerMissing = "EndpointPickerRefMissing"

	ConditionResolvedRefs     = "ResolvedRefs"
	ReasonResolvedRefs        = "ResolvedRefs"
	ReasonInvalidExtensionRef = "InvalidExtensionRef"
)
