// Package modelusage is the feature `modelUsage` of a TrafficPolicy: what answers of models took is counted.
//
// It owns the fields, and what says who the caller is. It must never know how answers are read (SlotAI), nor which
// logs and metrics there are. Start reading at Feature.
package modelusage

import (
	_ "embed"

	setmetadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"

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
	// Caller says who called. Nothing stated: the user of basicAuth, the client of apiKey, the subject of the token, or
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
	Read: read, Envoy: extend.EnvoyFuncs[Value]{Rule: render}, Judge: extend.Passes[Value], Words: words,
	Identified: identified,
}

func identified(s Spec) []extend.Identified {
	if s.Caller == nil || s.Caller.Claim == nil {
		return nil // models are told apart without callers, too
	}
	return []extend.Identified{{Field: "caller.claim", Token: true, Otherwise: "all requests are nobody's"}}
}

func read(r extend.Reader, s Spec) (v Value) {
	if s.Caller == nil {
		return v
	}
	if s.Caller.Claim == nil {
		r.Field("caller").Refuse("state its claim, or leave it out")
		return v
	}
	if _, err := extend.ClaimPath(*s.Caller.Claim); err != nil {
		r.Field("caller.claim").Refuse(err.Error())
	}
	return Value{Claim: *s.Caller.Claim}
}

// optionsMetadata is the namespace in which the filter of SlotAI finds what is stated.
const optionsMetadata = "cardea.dev/usage-options"

// render turns reading on. It always writes the options, even if there are none, so that the nearest level counts.
func render(e extend.EnvoyRule, v Value) {
	options := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	if v.Claim != "" {
		path := new(structpb.ListValue)
		names, _ := extend.ClaimPath(v.Claim) // read has told
		for _, name := range names {
			path.Values = append(path.Values, structpb.NewStringValue(name))
		}
		options.Fields["claim"] = structpb.NewListValue(path)
	}
	e.Filter(extend.SlotObserve, "model-usage", &setmetadatav3.Config{
		Metadata: []*setmetadatav3.Metadata{{MetadataNamespace: optionsMetadata, Value: options}},
	})
	e.Set(extend.SlotAI, nil)
}

func words(v Value) []string {
	if v.Claim == "" {
		return []string{"tokens of answers are counted by caller and model"}
	}
	return []string{"tokens of answers are counted by claim " + v.Claim + " and model"}
}
