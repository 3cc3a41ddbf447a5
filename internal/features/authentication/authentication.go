// Package authentication is the feature `authentication` of a SecurityPolicy: what holds for all ways to find out who
// sent a request (jwt, oidc, basicAuth, apiKey).
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached, nor how a method
// works. Start reading at Feature.
package authentication

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec has the settings that apply to all methods: jwt, oidc, basicAuth, apiKey.
//
// +kubebuilder:validation:MinProperties=1
type Spec struct {
	// Required: a rule that ends up without a method is not served, its requests get 500. A jwt that lets pass what has no
	// token (mode Optional or Permissive) is not enough. An extAuth is, if all requests are asked about and a failure
	// denies them.
	// +optional
	Required *bool `json:"required,omitempty"`
	// Combine says what several methods mean. All: a request must pass each. Any: a request must bring credentials of one
	// method at least, and all that it brings must be accepted. Methods must look for credentials in different places.
	// Default: All.
	// +optional
	Combine Combine `json:"combine,omitempty"`
	// WWWAuthenticate is the header WWW-Authenticate of 401 answers, which tells clients what credentials are asked for.
	// Default: what fits the method.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	WWWAuthenticate string `json:"wwwAuthenticate,omitempty"`
}

// Combine says what several methods mean.
// +kubebuilder:validation:Enum=All;Any
type Combine string

// The values of Combine.
const (
	All Combine = "All"
	Any Combine = "Any"
)

// Value is the spec as read.
type Value struct {
	// Any: a request has to bring what one of several methods takes.
	Any       bool
	Challenge string   // the header WWW-Authenticate; "": what the method says
	Providers []string // of tokens that are accepted
	Places    []Place  // where credentials can stand, if Any
	Methods   []string
	// Nobody: it is required, and there is no method. Rules below may have one, so each looks for itself.
	Nobody bool
}

// RereadPerRule has each rule look for its methods where a broader level has none.
func (v Value) RereadPerRule() extend.Reread {
	if v.Nobody {
		return extend.RereadAll
	}
	return extend.RereadNever
}

// Feature is what holds for all methods.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.SecurityPolicy, Name: extend.Authentication, Schema: schema, Levels: extend.AtRule,
	OnInvalid: extend.Deny, Group: extend.AuthenticationGroup, SkipHTTPSRedirect: true,
	Read: readSpec, Renders: renders, Judge: judgeRequest, Describe: describeValue,
}

func judgeRequest(q extend.Request, v Value) []extend.Verdict {
	switch {
	case !v.Any:
		return nil
	case slices.ContainsFunc(v.Places, func(p Place) bool { return p.presentIn(q) }):
		return []extend.Verdict{{Status: http.StatusUnauthorized, If: "its credentials are valid"}}
	}
	return []extend.Verdict{{Status: http.StatusUnauthorized, Why: "it has no credentials for any of the methods"}}
}

func describeValue(v Value) []string {
	if !v.Any {
		return nil
	}
	return []string{"one of " + strings.Join(v.Methods, ", ") + " is enough"}
}
