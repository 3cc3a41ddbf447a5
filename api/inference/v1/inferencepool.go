package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InferencePool is a set of pods that serve models, each on one or more ports, and who chooses among them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=infpool
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, written from the documentation of gateway-api-inference-extension"
// +kubebuilder:printcolumn:name="Picker",type=string,JSONPath=`.spec.endpointPickerRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type InferencePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec InferencePoolSpec `json:"spec"`
	// +optional
	Status InferencePoolStatus `json:"status,omitempty"`
}

// InferencePoolList is a list of InferencePools.
//
// +kubebuilder:object:root=true
type InferencePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InferencePool `json:"items"`
}

// InferencePoolSpec says which pods, which of their ports, and who chooses.
type InferencePoolSpec struct {
	// Selector selects pods in the pool's namespace.
	Selector LabelSelector `json:"selector"`
	// TargetPorts are the ports on which each pod serves. Each port of each pod is an endpoint by itself.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:message="port number must be unique",rule="self.all(p1, self.exists_one(p2, p1.number==p2.number))"
	// +listType=atomic
	TargetPorts []Port `json:"targetPorts"`
	// AppProtocol is what all target ports speak: http (HTTP/1.1) or kubernetes.io/h2c (HTTP/2 without TLS).
	// +optional
	// +kubebuilder:default=http
	AppProtocol AppProtocol `json:"appProtocol,omitempty"`
	// EndpointPickerRef is who chooses an endpoint for each request. Without it, Cardea's picker
	// does, and where Cardea runs none, the proxy.
	// +optional
	EndpointPickerRef *EndpointPickerRef `json:"endpointPickerRef,omitempty"`
}

// LabelSelector selects the pods that have all of its labels.
type LabelSelector struct {
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	MatchLabels map[LabelKey]LabelValue `json:"matchLabels"`
}

// LabelKey is the key of a label.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`
type LabelKey string

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue string

// Port is a port of a pod.
type Port struct {
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Number int32 `json:"number"`
}

// AppProtocol is what a port speaks.
//
// +kubebuilder:validation:Enum=http;kubernetes.io/h2c
type AppProtocol string

// The values of AppProtocol.
const (
	AppProtocolHTTP AppProtocol = "http"
	AppProtocolH2C  AppProtocol = "kubernetes.io/h2c"
)

// EndpointPickerRef names who chooses an endpoint for each request: a gRPC server of Envoy's external processing.
//
// +kubebuilder:validation:XValidation:message="port is required when kind is 'Service' or unspecified (defaults to 'Service')",rule="self.kind != 'Service' || has(self.port)"
type EndpointPickerRef struct {
	// Group of the object; "" is the core group.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Group *string `json:"group,omitempty"`
	// Kind of the object. A Service of type ExternalName is not supported.
	// +optional
	// +kubebuilder:default=Service
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`
	// Name of the object, in the pool's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Port of the Service.
	// +optional
	Port *Port `json:"port,omitempty"`
	// FailureMode is what becomes of requests while the picker does not answer: FailClose refuses them, FailOpen has the
	// gateway choose.
	// +optional
	// +kubebuilder:default=FailClose
	FailureMode FailureMode `json:"failureMode,omitempty"`
}

// FailureMode is what becomes of requests while a picker does not answer.
//
// +kubebuilder:validation:Enum=FailOpen;FailClose
type FailureMode string

// The values of FailureMode.
const (
	FailOpen  FailureMode = "FailOpen"
	FailClose FailureMode = "FailClose"
)
