// Package cors is the feature `cors` of a SecurityPolicy: which other origins' scripts may read answers.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package cors

import (
	_ "embed"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec tells browsers which other origins' scripts may read answers, as the CORS filter of an HTTPRoute does. It counts
// as a whole.
//
// +structType=atomic
type Spec struct {
	gatewayv1.HTTPCORSFilter `json:",inline"`
}

// Feature is CORS. A CORS filter of a rule is narrower than any policy.
var Feature = extend.Feature[Spec, extend.CORS]{
	Kind: extend.SecurityPolicy, Name: "cors", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Harmless:           true, // who is no browser does not ask it
	SkipDirectResponse: true, RuleFields: readRouteRule,
	Read: readSpec, Renders: renders, Judge: extend.PassAll[extend.CORS],
}

func readRouteRule(rule gatewayv1.HTTPRouteRule) (Spec, bool) {
	for _, f := range rule.Filters {
		if f.CORS != nil {
			return Spec{*f.CORS}, true
		}
	}
	return Spec{}, false
}

func readSpec(r extend.Reader, s Spec) extend.CORS {
	if len(s.AllowOrigins) == 0 {
		r.Field("allowOrigins").Refuse(`name the origins whose scripts may read answers, or state "*" for all`)
	}
	c, warning := extend.ReadCORS(s.HTTPCORSFilter)
	if warning != "" {
		r.Field("exposeHeaders").Warn(warning)
	}
	return c
}
