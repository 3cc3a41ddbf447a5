// Package directresponse is the feature `directResponse` of a TrafficPolicy: a rule answers by itself.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package directresponse

import (
	_ "embed"
	"fmt"
	"mime"
	"strings"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec is what a rule answers in place of a backend. It counts in a policy without targets, which the filters of a rule
// name in an extensionRef. If the rule asks for authentication, its answer does, too.
type Spec struct {
	// Status of the answer.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	Status *int32 `json:"status,omitempty"`
	// Body of the answer, up to 4Ki. Default: it is empty.
	// +optional
	Body *extend.TextSource `json:"body,omitempty"`
	// ContentType of the body; "text/plain;charset=utf-8" if it is not stated.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=128
	ContentType string `json:"contentType,omitempty"`
	// Headers of the answer.
	// +optional
	Headers *extend.HeaderEdits `json:"headers,omitempty"`
}

// Value is the spec as read.
type Value struct {
	Status      uint32
	Body        string
	ContentType string // "": there is no body
	Headers     []extend.HeaderChange
}

// Feature is the answer of a rule.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "directResponse", Schema: schema, Levels: extend.AtExtension,
	OnInvalid: extend.Deny, Effect: extend.AnswersRequests,
	Read: readSpec, Renders: renders, Judge: extend.PassAll[Value], Describe: describeValue,
}

// maxBodyBytes is what Envoy takes in a route, in bytes (RouteConfiguration.max_direct_response_body_size_bytes).
const maxBodyBytes = 4 << 10

func readSpec(r extend.Reader, s Spec) (v Value) {
	switch {
	case s.Status == nil:
		r.Refuse("state the status of the answer: status: 200")
	case *s.Status < 200 || *s.Status > 599:
		r.Field("status").Refuse(fmt.Sprintf("%d is not a status of an answer; write 200 to 599", *s.Status))
	default:
		v.Status = uint32(*s.Status)
	}
	if s.Body != nil {
		v.Body, v.ContentType = readBody(r.Field("body"), *s.Body), contentType(r.Field("contentType"), s.ContentType)
	} else if s.ContentType != "" {
		r.Field("contentType").Refuse("it has no effect without body; state body, or leave it out")
	}
	if bodiless := v.Status == 204 || v.Status == 304; bodiless && s.Body != nil {
		r.Field("body").Refuse(fmt.Sprintf("a response with status %d has no body; leave it out, or state another status",
			v.Status))
	}
	if s.Headers != nil {
		v.Headers = extend.ReadHeaders(r, "headers", *s.Headers)
	}
	return v
}

func readBody(r extend.Reader, from extend.TextSource) string {
	text, found := r.Text(from)
	if found && len(text) > maxBodyBytes {
		r.Refuse(fmt.Sprintf("it has %d bytes; a direct response can have %d at most", len(text), maxBodyBytes))
	}
	return text
}

func contentType(r extend.Reader, stated string) string {
	if stated == "" {
		return "text/plain;charset=utf-8"
	}
	if parsed, _, err := mime.ParseMediaType(stated); err != nil || !strings.Contains(parsed, "/") {
		r.Refuse(fmt.Sprintf("%q is not a type; write text/html; charset=utf-8", stated))
	}
	return stated
}

// headerChanges are the changes of the answer's headers that set secret values, or all others.
func (v Value) headerChanges(secret bool) (list []extend.HeaderChange) {
	if v.ContentType != "" && !secret {
		list = append(list, extend.HeaderChange{
			Action: extend.SetHeader, Name: "content-type", Format: strings.ReplaceAll(v.ContentType, "%", "%%"),
		})
	}
	for _, c := range v.Headers {
		if (c.Secret != nil) == secret {
			list = append(list, c)
		}
	}
	return list
}

func describeValue(v Value) []string {
	return []string{fmt.Sprintf("the rule answers %d by itself", v.Status)}
}
