// Package list is a feature that is a list.
package list

// Spec is named limits.
//
// +listType=map
// +listMapKey=name
// +kubebuilder:validation:MaxItems=32
type Spec []Limit

// Limit is one of them.
type Limit struct {
	// Name of the limit.
	Name string `json:"name"`
	// Requests that pass.
	// +optional
	Requests int32 `json:"requests,omitempty"`
}
