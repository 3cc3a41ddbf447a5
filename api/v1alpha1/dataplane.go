package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DataPlane has settings of the proxies of Gateways. With a DataPlane one can run any pod in the Gateway's namespace:
// allow it only to users who may create pods there.
//
// A GatewayClass refers to a DataPlane in spec.parametersRef, a Gateway in spec.infrastructure.parametersRef. If both
// set a field, the Gateway's value is used; this includes lists such as tolerations. Labels and annotations are merged
// by key. Patches are applied one after the other, the class's first. Changes are applied at once.
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

// DataPlaneSpec has only optional fields. A field that is not set keeps its default.
type DataPlaneSpec struct {
	// Proxy is the kind of proxy. Envoy (the default) is fed over xDS. EnvoyConfigMap is an Envoy that reads files of a
	// ConfigMap and a Secret, and needs no connection to the controller.
	//
	// +optional
	Proxy ProxyKind `json:"proxy,omitempty"`

	// Replicas is the number of pods. If it is not set, there is one pod at first, and an autoscaler may change the
	// number.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Image of the proxy's container, instead of its data plane's, or of --proxy-image.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	Image string `json:"image,omitempty"`

	// Resources of the proxy's container. The default is a request of 256Mi and a limit of 1Gi of memory, and no limit of
	// the CPU. A proxy that has nearly the memory of its limit refuses requests.
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

// The kinds of proxies.
const (
	ProxyEnvoy          ProxyKind = "Envoy"          // Envoy, configured over xDS
	ProxyEnvoyConfigMap ProxyKind = "EnvoyConfigMap" // Envoy, which reads the files of a ConfigMap
	// DefaultProxy is the kind where none is stated.
	DefaultProxy = ProxyEnvoy
)

// LogLevel is how much a proxy writes to its log.
//
// +kubebuilder:validation:Enum=trace;debug;info;warning;error;critical;off
type LogLevel string

// PodSettings are settings of the proxies' pods.
type PodSettings struct {
	// Labels are added to those that Cardea sets, and to those of the Gateway's spec.infrastructure.
	//
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to those that Cardea sets, and to those of the Gateway's spec.infrastructure.
	//
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// NodeSelector selects nodes by their labels.
	//
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of taints.
	//
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// DrainSeconds is how long a pod that is being deleted keeps serving, so that clients and load balancers can learn of
	// its end. The default is 10.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	DrainSeconds *int32 `json:"drainSeconds,omitempty"`

	// Patch is a strategic merge patch of the pod template (PodTemplateSpec), applied after all other settings. It must
	// not change serviceAccountName or the labels that Cardea sets.
	//
	// +optional
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}

// ServiceSettings are settings of the Service in front of the proxies.
type ServiceSettings struct {
	// Type of the Service; the default is LoadBalancer. With ClusterIP or NodePort, the Gateway's addresses are the
	// cluster IPs, since node ports differ from the listeners' ports.
	//
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`

	// LoadBalancerClass selects the load balancer implementation that gives the address.
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

// DeploymentSettings are settings of the Deployment.
type DeploymentSettings struct {
	// Patch is a strategic merge patch of the Deployment. It is applied last.
	//
	// +optional
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}
