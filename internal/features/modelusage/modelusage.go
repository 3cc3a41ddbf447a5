// Package modelusage is the feature `modelUsage` of a TrafficPolicy: what answers of models took is counted.
//
// It owns the fields, and what says who the caller is. It must never know how answers are read (SlotAI), nor which
// logs and metrics there are. Start reading at Feature.
package modelusage

import (
	_ "embed"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec reads from the answers of model servers which model answered, and how many tokens it took: of OpenAI's API
// (chat/completions, completions, embeddings, responses) and Anthropic's (messages), as JSON and as events. Metrics and
// access logs have it, by caller and model. Answers pass as they are, when they come. Those that are compressed, or say
// nothing of usage, are counted as requests with unknown usage.
type Spec struct {
	// Caller says who called. Default: the user of basicAuth, the client of apiKey, the subject of the token, or
	// the URI in the client's certificate; of requests without any of them, nobody.
	// +optional
	Caller *Caller `json:"caller,omitempty"`
}

// Caller says who called.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
type Caller struct {
	// Claim is the name of a claim of the accepted token, with dots between the names of nested claims; a dot in a name is
	// written with a backslash before it. Its value is a text or a number; each value has metrics of its own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Claim *string `json:"claim,omitempty"`
}

// Value is the spec as read.
type Value struct {
	Claim string // names the caller; "": it is who authentication found
}

// Feature is what answers of models took.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "modelUsage", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Skip,
	Read: readSpec, Renders: renders, Judge: extend.PassAll[Value], Describe: describeValue, Identified: listIdentified,
}

func listIdentified(s Spec) []extend.IdentityField {
	if s.Caller == nil || s.Caller.Claim == nil {
		return nil // models are told apart without callers, too
	}
	return []extend.IdentityField{{Field: "caller.claim", Token: true, Otherwise: "requests are counted without a caller"}}
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	if s.Caller == nil {
		return v
	}
	if s.Caller.Claim == nil {
		r.Field("caller").Refuse("state claim in it, or leave it out")
		return v
	}
	if _, err := extend.ClaimPath(*s.Caller.Claim); err != nil {
		r.Field("caller.claim").Refuse(err.Error())
	}
	return Value{Claim: *s.Caller.Claim}
}

// optionsMetadata is the namespace in which the filter of SlotAI finds what is stated.
const optionsMetadata = "cardea.dev/usage-options"

func describeValue(v Value) []string {
	if v.Claim == "" {
		return []string{"tokens of responses are counted by caller and model"}
	}
	return []string{"tokens of responses are counted by claim " + v.Claim + " and model"}
}
