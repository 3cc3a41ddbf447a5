package clienthttp

import "cardea.dev/cardea/extend"

// EarlyEdits change headers of requests. A name stands in one of the lists.
//
// +kubebuilder:validation:MinProperties=1
type EarlyEdits struct {
	// Set gives a header one value, in place of those that it has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Set []EarlyEdit `json:"set,omitempty"`
	// Add gives a header a value beside those that it has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Add []EarlyEdit `json:"add,omitempty"`
	// AddIfAbsent gives a header a value if it has none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	AddIfAbsent []EarlyEdit `json:"addIfAbsent,omitempty"`
	// Remove takes headers away.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Remove []string `json:"remove,omitempty"`
}

// EarlyEdit is a header's name, and its value in one of two ways. There is none for a value of a Secret: it would stand
// where everybody sees it who sees the proxy's configuration.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=2
// +kubebuilder:validation:MaxProperties=2
type EarlyEdit struct {
	// Name of the header, in any case.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Value is the value as it stands here.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`
	// Format is a value with commands: %REQ(x-request-id)% or %CEL(request.method)%. %% is a percent sign.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Format *string `json:"format,omitempty"`
}

// toHeaderEdits are the same edits, as all features read them.
func (e EarlyEdits) toHeaderEdits() extend.HeaderEdits {
	return extend.HeaderEdits{
		Set: headerEdits(e.Set), Add: headerEdits(e.Add), AddIfAbsent: headerEdits(e.AddIfAbsent), Remove: e.Remove,
	}
}

func headerEdits(list []EarlyEdit) (edits []extend.HeaderEdit) {
	for _, e := range list {
		edits = append(edits, extend.HeaderEdit{Name: e.Name, Value: e.Value, Format: e.Format})
	}
	return edits
}
