package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InferenceModelRewrite gives requests to an InferencePool another model than the one that they ask for.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Pool",type=string,JSONPath=`.spec.poolRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type InferenceModelRewrite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec InferenceModelRewriteSpec `json:"spec"`
	// +optional
	Status InferenceModelRewriteStatus `json:"status,omitempty"`
}

// InferenceModelRewriteList is a list of InferenceModelRewrites.
//
// +kubebuilder:object:root=true
type InferenceModelRewriteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InferenceModelRewrite `json:"items"`
}

// InferenceModelRewriteSpec is a pool and rules.
type InferenceModelRewriteSpec struct {
	// PoolRef is the pool, in the same namespace.
	PoolRef PoolObjectReference `json:"poolRef"`
	// Rules are in their order: of those that name the model, the first one counts, else of those without matches.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Rules []InferenceModelRewriteRule `json:"rules"`
}

// InferenceModelRewriteRule gives some requests other models.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targets) || self.targets.all(t, has(t.weight)) || self.targets.all(t, !has(t.weight))",message="state the weight of all targets, or of none"
type InferenceModelRewriteRule struct {
	// Matches are the requests; one of them is enough. Without any, it is every request, also one that names no model.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Matches []ModelRewriteMatch `json:"matches,omitempty"`
	// Targets are the models that the requests get, one of them at random, by their weights.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Targets []TargetModel `json:"targets"`
}

// ModelRewriteMatch is a kind of requests.
type ModelRewriteMatch struct {
	// Model is what the request's body has as "model".
	Model ModelMatch `json:"model"`
}

// ModelMatch is a name of a model.
type ModelMatch struct {
	// +optional
	// +kubebuilder:default=Exact
	// +kubebuilder:validation:Enum=Exact
	Type string `json:"type,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Value string `json:"value"`
}

// TargetModel is a model that requests get.
type TargetModel struct {
	// Weight is the part of the requests, of the sum of the targets' weights. Unset for all of them: equal parts.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Weight int32 `json:"weight,omitempty"`
	// ModelRewrite is the name of the model.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ModelRewrite string `json:"modelRewrite"`
}

// InferenceModelRewriteStatus says what became of the object.
type InferenceModelRewriteStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
