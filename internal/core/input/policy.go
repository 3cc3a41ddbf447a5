package input

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// PolicySpec is the spec of a policy, of whatever kind: what all kinds have, and the features that it states.
type PolicySpec struct {
	PolicyTargets
	Features []FeatureSpec // by name, each once
}

//go:generate go run -C ../../../extend/schemagen . -type PolicyTargets -out ../policycrd/targets.json $PWD

// PolicyTargets is what all kinds of policies have.
type PolicyTargets struct {
	// TargetRefs names the objects, in the policy's namespace, that the policy is for. Without targetRefs and
	// targetSelectors, it is for the rules that name it in an extensionRef.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	TargetRefs []gatewayv1.LocalPolicyTargetReferenceWithSectionName `json:"targetRefs,omitempty"`
	// TargetSelectors selects objects, in the policy's namespace, that the policy is for.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	TargetSelectors []TargetSelector `json:"targetSelectors,omitempty"`
	// Strategy says who counts if the policy and one of a narrower level state the same field. PatchDefaults, which holds
	// if it is not stated: the narrower one. PatchOverrides: this policy.
	// +optional
	Strategy Strategy `json:"strategy,omitempty"`
	// Disable names features that broader policies state and that are off here.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Disable []string `json:"disable,omitempty"`
}

// TargetSelector targets the objects of a kind, in the policy's namespace, that have all of these labels.
type TargetSelector struct {
	// Group of the objects; empty for Services.
	Group gatewayv1.Group `json:"group"`
	// Kind of the objects.
	Kind gatewayv1.Kind `json:"kind"`
	// MatchLabels are the labels, all of which an object must have.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]string `json:"matchLabels"`
	// SectionName is the part of each object that is meant: a Gateway's listener, a route's rule, a Service's port.
	// +optional
	SectionName *gatewayv1.SectionName `json:"sectionName,omitempty"`
}

// Strategy says who counts if a policy and one of a narrower level state the same field.
//
// +kubebuilder:validation:Enum=PatchDefaults;PatchOverrides
type Strategy string

const (
	// PatchDefaults: the narrower one.
	PatchDefaults Strategy = "PatchDefaults"
	// PatchOverrides: the policy itself.
	PatchOverrides Strategy = "PatchOverrides"
)

// FeatureSpec is what a policy states of one feature.
type FeatureSpec struct {
	Name string // of the feature: "jwt", "example.com/signing"
	JSON string // its spec, with sorted keys
}

// ExtensionsField is the field of a policy under which features of strangers stand.
const ExtensionsField = "extensions"

// sharedFields are those of PolicyTargets.
var sharedFields = []string{"targetRefs", "targetSelectors", "strategy", "disable"}

// UnmarshalJSON reads a spec; every field that not all kinds have is a feature.
func (s *PolicySpec) UnmarshalJSON(text []byte) error {
	*s = PolicySpec{}
	if err := json.Unmarshal(text, &s.PolicyTargets); err != nil {
		return err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, name := range sharedFields {
		delete(fields, name)
	}
	if strangers, ok := fields[ExtensionsField].(map[string]any); ok {
		delete(fields, ExtensionsField)
		for name, spec := range strangers {
			fields[name] = spec
		}
	}
	for name, spec := range fields {
		b, err := json.Marshal(spec)
		if err != nil {
			return err
		}
		s.Features = append(s.Features, FeatureSpec{name, string(b)})
	}
	slices.SortFunc(s.Features, func(a, b FeatureSpec) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// MarshalJSON writes the spec as it was read.
func (s PolicySpec) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(s.PolicyTargets)
	if err != nil {
		return nil, err
	}
	fields, strangers := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, err
	}
	for _, f := range s.Features {
		if strings.Contains(f.Name, "/") {
			strangers[f.Name] = json.RawMessage(f.JSON)
		} else {
			fields[f.Name] = json.RawMessage(f.JSON)
		}
	}
	if len(strangers) > 0 {
		if fields[ExtensionsField], err = json.Marshal(strangers); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// DeepCopyInto copies the spec. Shared values never change.
func (s *PolicySpec) DeepCopyInto(into *PolicySpec) { *into = *s }

// AsFeature is all that a policy states but for its targets, as a spec of one feature of that name.
func (s PolicySpec) AsFeature(name string) FeatureSpec {
	all := PolicySpec{Features: s.Features}
	b, err := all.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("input: %v", err)) // it was read from JSON
	}
	return FeatureSpec{name, string(b)}
}

// FindFeature is what the policy states of a feature; false: nothing.
func (s PolicySpec) FindFeature(feature string) (FeatureSpec, bool) {
	for _, f := range s.Features {
		if f.Name == feature {
			return f, true
		}
	}
	return FeatureSpec{}, false
}
