package extend

import "encoding/json"

// Unmerged is about a feature of which every level counts: what policies state is not merged, and no level replaces
// another one. S is Each, and is read for what the policies of one level state, or of a few; filters have to have names
// of their level, so that they all run. Such a feature is all that its kind of policies states (Whole): its fields
// stand in their spec.
type Unmerged struct {
	// Certificates are the fields of a policy's spec that take only callers with certificates; nil: there are none.
	Certificates func(stated EachPolicy) (fields []string)
	// Harmless tells whether a policy with this spec, which may not be valid, would refuse nothing if it were: then it
	// closes nothing, and its last good version stays. Another one closes what it is for, whatever its last good version
	// says. Kinds that count as another (KindAlias) are never harmless. nil: no policy is.
	Harmless func(spec map[string]any) bool
	// Refers are the references of a policy's spec; nil: it has none. Those of other features are found in S.
	Refers func(spec []byte) []Reference
}

// IsHarmless tells whether a policy with a spec is Harmless. Policies of a feature that is merged are not.
func (u *Unmerged) IsHarmless(spec map[string]any) bool {
	return u != nil && u.Harmless != nil && u.Harmless(spec)
}

// ListCertificateFields are the Certificates of a policy; none of a feature that is merged.
func (u *Unmerged) ListCertificateFields(stated EachPolicy) []string {
	if u == nil || u.Certificates == nil {
		return nil
	}
	return u.Certificates(stated)
}

// Whole is the name of a feature that is all that its kind of policies states.
const Whole = "*"

// Each is what policies state of a feature that is Unmerged, from broad to narrow.
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
	// Kind is the policy's, which may be one that counts as the feature's (Kind.CountsAs).
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Spec      json.RawMessage `json:"spec"`
	// Invalid: it is not what the schema asks for, and Spec says nothing. It must not count as if it were not there.
	Invalid bool `json:"invalid,omitempty"`
}
