// Package headers is the feature `headers` of a TrafficPolicy: which headers of requests and answers are changed.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package headers

import (
	_ "embed"
	"fmt"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec changes headers. Those of requests are changed after all decisions on whether they may pass, and before the
// filters of the route itself change them.
//
// +kubebuilder:validation:MinProperties=1
type Spec struct {
	// Request changes what the backend gets.
	// +optional
	Request *extend.HeaderEdits `json:"request,omitempty"`
	// Response changes what the client gets, also of answers that the proxy makes by itself.
	// +optional
	Response *extend.HeaderEdits `json:"response,omitempty"`
}

// Value is the changes as read.
type Value struct{ Request, Response []extend.HeaderChange }

// Feature is the changes of headers.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "headers", Schema: schema, Levels: extend.AtRule | extend.AtBackendRef,
	OnInvalid: extend.Deny, Read: readSpec, Renders: renders, Judge: extend.PassAll[Value], Describe: describeValue,
	Sets: listIdentityHeaders,
}

// listIdentityHeaders are the headers of the request that tell who sent it.
func listIdentityHeaders(v Value) (h extend.IdentityHeaders) {
	for _, c := range v.Request {
		if extend.TellsIdentity(c.Format) {
			h.Also = append(h.Also, c.Name)
		}
	}
	return h
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	if s.Request != nil {
		v.Request = extend.ReadHeaders(r, "request", *s.Request)
	}
	if s.Response != nil {
		v.Response = extend.ReadHeaders(r, "response", *s.Response)
	}
	return v
}

// selectChanges are the changes that set secret values, or all others.
func selectChanges(changes []extend.HeaderChange, secret bool) (list []extend.HeaderChange) {
	for _, c := range changes {
		if (c.Secret != nil) == secret {
			list = append(list, c)
		}
	}
	return list
}

// describeValue tell of values that must not be shown.
func describeValue(v Value) (list []string) {
	for _, of := range []struct {
		what    string
		changes []extend.HeaderChange
	}{{"request", v.Request}, {"answer", v.Response}} {
		for _, c := range of.changes {
			if c.Secret != nil {
				list = append(list, fmt.Sprintf("header %s of the %s has a value from a Secret", c.Name, of.what))
			}
		}
	}
	return list
}
