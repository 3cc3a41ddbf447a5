// Package credentials is the feature `credentials` of a BackendPolicy: who the gateway says it is when it sends
// requests to a backend.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package credentials

import (
	_ "embed"
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec is what proves to a backend who the gateway is. It counts as a whole. While it can't be served, as its Secret is
// missing, requests to the backend are answered with 503: they must not get there with the client's own credentials.
//
// +structType=atomic
type Spec struct {
	// Header puts a secret into a header of each request, also of copies and of retries.
	// +optional
	Header *Header `json:"header,omitempty"`
	// Remove takes headers off requests that clients sent to the gateway and that are none of the backend's business, such
	// as authorization, if the backend gets a key in another header.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Remove []string `json:"remove,omitempty"`
}

// Header is a header with a secret.
type Header struct {
	// Name of the header. Default: Authorization.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name *string `json:"name,omitempty"`
	// SecretRef names a Secret. Its entry "value" is the value.
	SecretRef gatewayv1.SecretObjectReference `json:"secretRef"`
	// Prefix stands before the value: "Bearer ".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Prefix *string `json:"prefix,omitempty"`
	// Overwrite puts the secret in place of what clients send in the header. Default: true. With false a request
	// that has the header keeps it.
	// +optional
	Overwrite *bool `json:"overwrite,omitempty"`
}

// Value is the credentials as read.
type Value struct {
	Header, Prefix string // Header "": there is none
	Overwrite      bool
	Secret         extend.Bytes
	Remove         []string
}

// Feature is who the gateway says it is to a backend.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "credentials", Schema: schema, Levels: extend.AtBackend, OnInvalid: extend.Deny,
	Protects: true, Read: readSpec, Renders: renders, Describe: describeValue,
}

// secretEntry is the one of the Secret that counts.
const secretEntry = "value"

func readSpec(r extend.Reader, s Spec) Value {
	var v Value
	for _, c := range extend.ReadHeaders(r, "", extend.HeaderEdits{Remove: s.Remove}) {
		v.Remove = append(v.Remove, c.Name)
	}
	if s.Header == nil {
		if len(s.Remove) == 0 {
			r.Refuse("it has no fields; state header or remove")
		}
		return v
	}
	r = r.Field("header")
	v.Header, v.Overwrite = "authorization", s.Header.Overwrite == nil || *s.Header.Overwrite
	if s.Header.Name != nil {
		v.Header = strings.ToLower(*s.Header.Name)
		edits := extend.HeaderEdits{Set: []extend.HeaderEdit{{Name: v.Header, Value: new("")}}}
		for _, p := range extend.ValidateHeaders(edits) {
			r.Field("name").Refuse(p.Message)
		}
	}
	if s.Header.Prefix != nil {
		if v.Prefix = *s.Header.Prefix; !isHeader(v.Prefix) {
			r.Field("prefix").Refuse("it has a character that no header can have; write one line of text")
		}
	}
	data, found := r.Field("secretRef").Secret(s.Header.SecretRef)
	if !found {
		return v
	}
	value := strings.TrimRight(string(data[secretEntry]), "\r\n")
	if value == "" || !isHeader(value) {
		r.Field("secretRef").Refuse(fmt.Sprintf("Secret %s has no entry %q that can be a header: one line of text",
			s.Header.SecretRef.Name, secretEntry))
		return v
	}
	v.Secret = extend.Bytes(value)
	return v
}

func isHeader(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f })
}

func describeValue(v Value) (list []string) {
	if len(v.Remove) > 0 {
		list = append(list, "removed from requests to the backend: "+strings.Join(v.Remove, ", "))
	}
	if v.Header == "" {
		return list
	}
	text := fmt.Sprintf("header %s of requests to the backend is set from a Secret", v.Header)
	if !v.Overwrite {
		text += ", unless the request has it"
	}
	return append(list, text)
}
