package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DataPlane says how the proxies of Gateways are run. Who may write one may run any pod in the Gateway's namespace:
// give it to those only who may create pods there.
//
// A GatewayClass names one by spec.parametersRef, a Gateway by spec.infrastructure.parametersRef. Where both state a
// field, the Gateway's counts, whole lists such as tolerations included. Labels and annotations add up, by key; patches
// are applied one after the other, the class's first. Changes apply at once.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cardea,shortName=dp
// +kubebuilder:printcolumn:name="Proxy",type=string,JSONPath=`.spec.proxy`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DataPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DataPlaneSpec `json:"spec"`
}

// DataPlaneList is a list of DataPlanes.
//
// +kubebuilder:object:root=true
type DataPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DataPlane `json:"items"`
}

// DataPlaneSpec has only optional fields: what is not stated is as it would be without.
type DataPlaneSpec struct {
	// Proxy is the kind of proxy.
	//
	// +optional
	Proxy ProxyKind `json:"proxy,omitempty"`

	// Replicas is the number of pods. Not stated, whatever an autoscaler sets is left alone, and there is one at first.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Image of the proxy's container, in place of the one that the controller was started with.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	Image string `json:"image,omitempty"`

	// Resources of the proxy's container.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// LogLevel of the proxy.
	//
	// +optional
	LogLevel LogLevel `json:"logLevel,omitempty"`

	// Pod settings.
	//
	// +optional
	Pod *PodSettings `json:"pod,omitempty"`

	// Service settings.
	//
	// +optional
	Service *ServiceSettings `json:"service,omitempty"`

	// Deployment settings.
	//
	// +optional
	Deployment *DeploymentSettings `json:"deployment,omitempty"`
}

// ProxyKind is a kind of proxy.
//
// +kubebuilder:validation:Enum=Envoy;EnvoyConfigMap
type ProxyKind string

// The kinds of proxies. Not stated, it is ProxyEnvoy.
const (
	ProxyEnvoy          ProxyKind = "Envoy"          // Envoy, fed over xDS
	ProxyEnvoyConfigMap ProxyKind = "EnvoyConfigMap" // Envoy, which reads the files of a ConfigMap
)

// LogLevel is how much a proxy writes to its log.
//
// +kubebuilder:validation:Enum=trace;debug;info;warning;error;critical;off
type LogLevel string

// PodSettings shape the proxies' pods.
type PodSettings struct {
	// Labels are added to those that Cardea sets, and to those of the Gateway's spec.infrastructure.
	//
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to those that Cardea sets, and to those of the Gateway's spec.infrastructure.
	//
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// NodeSelector chooses nodes by their labels.
	//
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of taints.
	//
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// DrainSeconds is how long a pod that ends goes on serving, so that whoever sends to it learns of its end. 10 if it is
	// not stated.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	DrainSeconds *int32 `json:"drainSeconds,omitempty"`

	// Patch is a strategic merge patch of the pod template (PodTemplateSpec), applied after all other settings. It must
	// not change serviceAccountName, nor the labels that Cardea sets.
	//
	// +optional
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}

// ServiceSettings shape the Service in front of the proxies.
type ServiceSettings struct {
	// Type of the Service. LoadBalancer if it is not stated. Of a ClusterIP and a NodePort the Gateway's addresses are the
	// cluster IPs: the ports of nodes are others than the listeners'.
	//
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`

	// LoadBalancerClass chooses who gives the address.
	//
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`

	// ExternalTrafficPolicy: Local keeps the client's address.
	//
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// Labels are added to those that Cardea sets.
	//
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to those that Cardea sets.
	//
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Patch is a strategic merge patch of the Service. It is applied last.
	//
	// +optional
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}

// DeploymentSettings shape the Deployment.
type DeploymentSettings struct {
	// Patch is a strategic merge patch of the Deployment. It is applied last.
	//
	// +optional
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}
