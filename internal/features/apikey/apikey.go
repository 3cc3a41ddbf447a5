// Package apikey is the feature `apiKey` of a SecurityPolicy: clients that are known by a key that they send.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package apikey

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec asks for a key. A request without one, or with one that is not known, is answered with 401.
type Spec struct {
	// KeysRefs name Secrets of keys: the name of each entry is the client's, and its content the client's key.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	KeysRefs []gatewayv1.SecretObjectReference `json:"keysRefs,omitempty"`
	// From says where the key stands; the first place that has one counts. Default: the header Authorization, with
	// "Bearer " before the key.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	From []KeySource `json:"from,omitempty"`
	// ClientHeader is a header in which the backend gets the client's name. If clients send this header, the proxy removes
	// it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientHeader string `json:"clientHeader,omitempty"`
	// Forward leaves the key in the request. Default: the backend does not get it.
	// +optional
	Forward *bool `json:"forward,omitempty"`
	// Clients are those of the keys' clients that may pass; others get 403. Default: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Clients []string `json:"clients,omitempty"`
}

// KeySource is a place in a request where a key can stand.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type KeySource struct {
	// Header is the name of a header. "Bearer " before the key is not a part of it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header *string `json:"header,omitempty"`
	// Query is the name of a query parameter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Query *string `json:"query,omitempty"`
	// Cookie is the name of a cookie.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cookie *string `json:"cookie,omitempty"`
}

// Value is the spec as read.
type Value struct {
	Keys         extend.Bytes // a JSON list of Credential
	Secrets      []string
	From         []Source
	ClientHeader string // in small letters
	Forward      bool
	Clients      []string
	// Missing: what has no key passes, since another method may accept it.
	Missing bool
}

// Credential is a client and its key.
type Credential struct{ Client, Key string }

// Source is a place where a key can stand. One field is stated.
type Source struct{ Header, Query, Cookie string }

// Feature is authentication by key.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.SecurityPolicy, Name: "apiKey", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Group: "authentication", DisabledWith: extend.Authentication, SkipHTTPSRedirect: true,
	Read: readSpec, Renders: renders, Judge: judgeRequest, Describe: describeValue, Sets: listIdentityHeaders,
}

func judgeRequest(q extend.Request, v Value) []extend.Verdict {
	key := extend.Verdict{Status: http.StatusUnauthorized}
	if slices.ContainsFunc(v.From, func(s Source) bool { return s.presentIn(q) }) {
		key.If = "the key is one of Secrets " + strings.Join(v.Secrets, ", ")
	} else if v.Missing {
		return nil
	}
	if key.If == "" {
		key.Why = "it has no API key"
	}
	if len(v.Clients) == 0 || key.If == "" {
		return []extend.Verdict{key}
	}
	return []extend.Verdict{key, {
		Status: http.StatusForbidden, If: "the key's client is one of " + strings.Join(v.Clients, ", "),
	}}
}

// presentIn tells whether a request has a key at a place.
func (s Source) presentIn(q extend.Request) bool {
	r := http.Request{Header: q.Header}
	if s.Cookie != "" {
		c, err := r.Cookie(s.Cookie)
		return err == nil && c.Value != ""
	}
	if s.Query != "" {
		return hasParameter(q.Path, s.Query)
	}
	return q.Header.Get(s.Header) != ""
}

func describeValue(v Value) []string {
	return []string{"a key of Secrets " + strings.Join(v.Secrets, ", ")}
}
