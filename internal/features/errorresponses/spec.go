// Package errorresponses is the feature `errorResponses` of a TrafficPolicy: pages in place of errors.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package errorresponses

import (
	_ "embed"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec are pages in place of errors, by name; those of all levels add up. If several fit an answer, one that names its
// code counts before one that names a class; then the one with more conditions (headers, from, accept); then the first
// by name. gRPC calls get none. Pages are not compressed. They keep some headers of the error: those for authentication
// and for CORS, Retry-After, Allow and Vary. They get none that headers.response sets.
//
// +listType=map
// +listMapKey=name
// +kubebuilder:validation:MaxItems=32
type Spec []Page

// Page is what is answered in place of some errors.
type Page struct {
	// Name of the page.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Codes are the statuses that it replaces: "503", or a class, "4xx" or "5xx". Answers below 400 are never replaced.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[1-5]([0-9][0-9]|xx)$`
	Codes []string `json:"codes,omitempty"`
	// Headers of the answer; each must match. A header that is there several times is one text with commas in it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Headers []extend.NamedMatch `json:"headers,omitempty"`
	// From is who made the error: Proxy, Backend or Any. Default: Any. A directResponse is the proxy's, too.
	// +optional
	From Origin `json:"from,omitempty"`
	// Accept are types of content: text/html. The client must have named one of them in the header Accept. Ranges (*/*)
	// are compared as they are written.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=128
	Accept []string `json:"accept,omitempty"`
	// Status in place of the error's. Default: it stays.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	Status *int32 `json:"status,omitempty"`
	// Body of the page, up to 64Ki.
	// +optional
	Body *extend.TextSource `json:"body,omitempty"`
	// ContentType of the body; "text/plain;charset=utf-8" if it is not stated.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=128
	ContentType string `json:"contentType,omitempty"`
	// RedirectTo sends the client to another place, by status 302 unless status is another 3xx: a path, or a URL with
	// http or https.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	RedirectTo string `json:"redirectTo,omitempty"`
}

// Origin is who made an answer.
// +kubebuilder:validation:Enum=Proxy;Backend;Any
type Origin string

// The origins.
const (
	Proxy   Origin = "Proxy"
	Backend Origin = "Backend"
	Any     Origin = "Any"
)

// Value is the pages as read.
type Value struct{ Pages []page }

// page is a Page as read.
type page struct {
	Name        string
	Codes       []string
	Headers     []extend.NamedMatch
	From        Origin
	Accept      []string
	Status      uint32 // 0: the error's
	Body        string
	ContentType string
	Location    string
}

// countConditions is how many things an answer must fulfil besides its status.
func (p page) countConditions() int {
	n := len(p.Headers)
	if len(p.Accept) > 0 {
		n++
	}
	if p.From != Any {
		n++
	}
	return n
}

// Feature is pages in place of errors.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "errorResponses", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Skip,
	Read: readSpec, Renders: renders,
}
