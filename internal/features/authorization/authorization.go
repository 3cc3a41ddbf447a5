// Package authorization is the feature `authorization` of a SecurityPolicy: which requests may pass.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package authorization

import (
	_ "embed"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says which requests may pass. A request passes if no entry of deny matches it, every entry of require matches it
// and, if allow has entries, one of them matches it. Other requests get 403. The order of entries does not matter; the
// entries of several policies are merged by name.
//
// +kubebuilder:validation:MinProperties=1
type Spec struct {
	// Deny refuses the requests of each entry.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Deny []Entry `json:"deny,omitempty"`
	// Require refuses requests that are not of each entry.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Require []Entry `json:"require,omitempty"`
	// Allow refuses requests that are of none of the entries. Default: all pass.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Allow []Entry `json:"allow,omitempty"`
}

// Entry is requests under a name.
type Entry struct {
	// Name of the entry.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Matches say which requests are meant: those of any of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Matches []extend.RequestMatch `json:"matches,omitempty"`
	// Mode Shadow refuses nothing: what would be refused is counted (envoy_shadow_denied) and logged (access). For allow,
	// it is counted what would be refused if all entries were in force. Default: Enforce.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// Status of the answer to what is refused. Default: 403; Envoy has no other.
	// +optional
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=599
	Status *int32 `json:"status,omitempty"`
}

// Mode says what becomes of what is refused.
// +kubebuilder:validation:Enum=Enforce;Shadow
type Mode string

// The modes of an Entry.
const (
	Enforce Mode = "Enforce"
	Shadow  Mode = "Shadow"
)

// Value is the spec as read.
type Value struct {
	Deny, Require, Allow []Entry
	Providers            []string // of tokens that are accepted
	Headers              []string // that authentication sets
	// Shadows are below what names entries in mode Shadow count and log, by list and entry, "deny.watched", or "allow".
	Shadows map[string]string
}

// Feature is which requests may pass. Where nothing but a redirect to https is, who sent the request is not known yet.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.SecurityPolicy, Name: "authorization", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Group: "authentication", SkipHTTPSRedirect: true,
	ServedAt: map[string]extend.ConnectionKinds{"": extend.OverStreams | extend.OverUDP},
	Read:     readSpec, Renders: renders, Judge: judgeRequest,
}
