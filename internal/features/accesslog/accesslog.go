// Package accesslog is the feature `accessLog` of a TrafficPolicy: which requests of a rule are logged, and what their
// lines say besides. Where lines go, it does not say: every access log heeds it.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached, or which logs there
// are. Start reading at Feature.
package accesslog

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"unicode"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says which requests are logged, and what is added to their lines. Default: all requests are.
type Spec struct {
	// Disable leaves all requests out of every access log.
	// +optional
	Disable *bool `json:"disable,omitempty"`
	// Sampling is the share of requests that are logged. One request is in all logs or in none.
	// +optional
	// +structType=atomic
	Sampling *gatewayv1.Fraction `json:"sampling,omitempty"`
	// Attributes are texts that stand in each line, by their names, under "attributes".
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Attributes map[string]string `json:"attributes,omitempty"`
}

// maxAttribute is how long an attribute's name or text may be, in bytes: each rule has a copy.
const maxAttribute = 256

// Value is the settings as read.
type Value struct {
	Share      *int64 // of a million requests; nil: all
	Attributes map[string]string
}

const million = 1_000_000

// Feature is which requests are logged.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "accessLog", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Skip,
	Read: readSpec, Renders: renders, Judge: extend.PassAll[Value], Describe: describeValue,
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	if s.Sampling != nil {
		share, err := extend.Percent(*s.Sampling)
		if err != nil {
			r.Field("sampling").Refuse(err.Error())
		}
		n := int64(share)
		v.Share = &n
	}
	if s.Disable != nil && *s.Disable {
		v.Share = new(int64)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		text := s.Attributes[name]
		switch {
		case name == "" || len(name) > maxAttribute || len(text) > maxAttribute:
			r.Field("attributes").Refuse(fmt.Sprintf("%q: a name and its text have at most %d bytes each", name, maxAttribute))
		case slices.ContainsFunc([]rune(name+text), unicode.IsControl):
			r.Field("attributes").Refuse(fmt.Sprintf("%q: there is a control character in it", name))
		}
	}
	v.Attributes = s.Attributes
	return v
}

func describeValue(v Value) []string {
	switch {
	case v.Share == nil, *v.Share == million:
		return nil
	case *v.Share == 0:
		return []string{"requests are not logged"}
	}
	return []string{fmt.Sprintf("%g%% of the requests are logged", float64(*v.Share)/(million/100))}
}
