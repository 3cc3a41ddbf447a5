package extend

import "encoding/json"

// Whole is the name of a feature that is all that its kind of policies states.
const Whole = "*"

// Each is what policies state of a feature that is EachLevel, from broad to narrow.
type Each struct {
	Levels []EachLevel `json:"levels"`
}

// EachLevel is what the policies of one level state.
type EachLevel struct {
	Level    string       `json:"level"`    // "class", "gateway", "listener", "route", "rule", "extension", "backend"
	Policies []EachPolicy `json:"policies"` // the oldest first
}

// EachPolicy is what one policy states.
type EachPolicy struct {
	// Name is "NAMESPACE/NAME", after its kind if that is not the feature's: "XAccessPolicy NAMESPACE/NAME".
	Name string `json:"name"`
	// Kind is the policy's, which may be one that counts as the feature's (Kind.As).
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Spec      json.RawMessage `json:"spec"`
	// Invalid: it is not what the schema asks for, and Spec says nothing. It must not count as if it were not there.
	Invalid bool `json:"invalid,omitempty"`
}
