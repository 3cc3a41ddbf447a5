package v0alpha0

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// XBackend is a server of tools for agents.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.mcp.serviceName`
// +kubebuilder:printcolumn:name="Hostname",type=string,JSONPath=`.spec.mcp.hostname`
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.spec.mcp.port`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type XBackend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec XBackendSpec `json:"spec"`
	// +optional
	Status XBackendStatus `json:"status,omitempty"`
}

// XBackendList is a list of XBackends.
//
// +kubebuilder:object:root=true
type XBackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []XBackend `json:"items"`
}

// XBackendSpec says where the server is.
type XBackendSpec struct {
	// MCP is a server of the Model Context Protocol.
	MCP MCPBackend `json:"mcp"`
}

// MCPBackend is a server of the Model Context Protocol, over streamable HTTP.
//
// +kubebuilder:validation:XValidation:message="exactly one of serviceName and hostname must be set",rule="[has(self.serviceName),has(self.hostname)].filter(x,x==true).size() == 1"
type MCPBackend struct {
	// ServiceName is a Service in the XBackend's namespace.
	// +optional
	ServiceName *string `json:"serviceName,omitempty"`
	// Hostname is a name outside of the cluster. The server is spoken to over TLS.
	// +optional
	Hostname *string `json:"hostname,omitempty"`
	// Port of the Service, or of the host.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// Path is where the server takes messages.
	// +optional
	// +kubebuilder:default=/mcp
	Path string `json:"path,omitempty"`
}

// XBackendStatus says what became of the object.
type XBackendStatus struct {
	// Conditions say whether it can be used.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
