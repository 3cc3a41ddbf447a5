package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// InferenceObjective says how important requests to an InferencePool are that name it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Pool",type=string,JSONPath=`.spec.poolRef.name`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type InferenceObjective struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec InferenceObjectiveSpec `json:"spec"`
	// +optional
	Status InferenceObjectiveStatus `json:"status,omitempty"`
}

// InferenceObjectiveList is a list of InferenceObjectives.
//
// +kubebuilder:object:root=true
type InferenceObjectiveList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InferenceObjective `json:"items"`
}

// InferenceObjectiveSpec names a pool and a priority.
type InferenceObjectiveSpec struct {
	// Priority is compared with that of other requests to the pool: the higher, the more important. Unset is 0.
	// +optional
	Priority *int `json:"priority,omitempty"`
	// PoolRef is the pool, in the same namespace.
	PoolRef PoolObjectReference `json:"poolRef"`
}

// PoolObjectReference names a pool.
type PoolObjectReference struct {
	// +optional
	// +kubebuilder:default=inference.networking.k8s.io
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// +optional
	// +kubebuilder:default=InferencePool
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// InferenceObjectiveStatus says what became of the object.
type InferenceObjectiveStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Pool is the InferencePool that an object of a namespace names; false if it names another kind of object. What is not
// stated is as the defaults say.
func (r PoolObjectReference) Pool(namespace string) (types.NamespacedName, bool) {
	is := (r.Group == "" || r.Group == "inference.networking.k8s.io") && (r.Kind == "" || r.Kind == "InferencePool")
	return types.NamespacedName{Namespace: namespace, Name: r.Name}, is
}
