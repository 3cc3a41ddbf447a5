// Package defaulted has a spec that states what nobody wrote.
package defaulted

// Spec has a default far below.
type Spec struct {
	Parts []Part `json:"parts,omitempty"`
}

// Part of it.
type Part struct {
	// +kubebuilder:default=3
	Size int32 `json:"size,omitempty"`
}
