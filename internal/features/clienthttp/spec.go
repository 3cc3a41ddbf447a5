// Package clienthttp is the feature `http` of a ClientPolicy: what listeners do to requests before a route is looked
// for, and what they tell backends and clients of themselves.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package clienthttp

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/api/resource"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec is how requests are read.
type Spec struct {
	// Path says what becomes of slashes in paths, before routes and policies are compared with them.
	// +optional
	Path *Path `json:"path,omitempty"`
	// Headers bounds headers, and changes them.
	// +optional
	Headers *Headers `json:"headers,omitempty"`
	// RequestID says who makes x-request-id. Preserve: the client, or nobody. Generate: the proxy. PreserveOrGenerate: the
	// client, or else the proxy. "Off" (in quotes): nobody; what the client sends is passed on. Generate if it is not
	// stated.
	// +optional
	RequestID *RequestID `json:"requestID,omitempty"`
	// ForwardClientCertificate tells backends of the client's certificate, in x-forwarded-client-cert.
	// +optional
	ForwardClientCertificate *ForwardClientCertificate `json:"forwardClientCertificate,omitempty"`
	// Proxy100Continue lets the backend answer "Expect: 100-continue", in place of the proxy; false if it is not stated.
	// +optional
	Proxy100Continue *bool `json:"proxy100Continue,omitempty"`
}

// Path says what becomes of slashes. A backend that reads %2F or // as a slash serves under other paths than routes and
// policies saw where they are left as they are.
type Path struct {
	// EscapedSlashes are %2F and %5C in a path. KeepUnchanged: they are no slashes. Reject: 400. UnescapeAndForward: they
	// are slashes. UnescapeAndRedirect: the client is sent to the path with slashes (307). UnescapeAndRedirect if it is
	// not stated. A call of gRPC gets 400 in place of a redirect.
	// +optional
	EscapedSlashes *EscapedSlashes `json:"escapedSlashes,omitempty"`
	// MergeSlashes makes one slash of several that follow each other; true if it is not stated.
	// +optional
	MergeSlashes *bool `json:"mergeSlashes,omitempty"`
}

// Headers bounds headers, and changes them.
type Headers struct {
	// MaxSize bounds the headers of a request with its request line, in whole Ki: 1Ki to 8Mi, 60Ki if it is not stated.
	// Over it the client gets 431.
	// +optional
	MaxSize *resource.Quantity `json:"maxSize,omitempty"`
	// MaxCount is how many headers a request has at most; 100 if it is not stated. Over it the client gets 431.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxCount *int32 `json:"maxCount,omitempty"`
	// Underscores says what becomes of headers with an underscore in their name, which some backends read as a dash.
	// Reject: 400. Drop: they are taken away. Allow if it is not stated.
	// +optional
	Underscores *Underscores `json:"underscores,omitempty"`
	// Early changes headers of requests before anything looks at them: routes and policies see what it makes of them. A
	// format that comes out empty changes nothing.
	// +optional
	Early *EarlyEdits `json:"early,omitempty"`
	// Server is the header "server" of answers. PassThrough: the backend's. Overwrite: "envoy". AppendIfAbsent: the
	// backend's, or else "envoy". PassThrough if it is not stated.
	// +optional
	Server *Server `json:"server,omitempty"`
	// Via is added to the header "via" of requests and answers: "edge", "1.1 edge". Nothing is added if it is not stated.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Via *string `json:"via,omitempty"`
}

// ForwardClientCertificate says what x-forwarded-client-cert tells of a connection with a client's certificate.
// Backends get no such header of other connections.
type ForwardClientCertificate struct {
	// Mode says what of it backends get. Sanitize: nothing. ForwardOnly: what the client sent. AppendForward: that, and
	// the client's certificate. SanitizeSet: the client's certificate. Sanitize if it is not stated.
	// +optional
	Mode *CertificateMode `json:"mode,omitempty"`
	// Details are what is told of the certificate besides its hash.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Details []CertificateDetail `json:"details,omitempty"`
}

// EscapedSlashes says what becomes of escaped slashes.
//
// +kubebuilder:validation:Enum=KeepUnchanged;Reject;UnescapeAndForward;UnescapeAndRedirect
type EscapedSlashes string

// Underscores says what becomes of headers with underscores.
//
// +kubebuilder:validation:Enum=Allow;Reject;Drop
type Underscores string

// Server says who sets the header "server".
//
// +kubebuilder:validation:Enum=PassThrough;Overwrite;AppendIfAbsent
type Server string

// RequestID says who makes x-request-id.
//
// +kubebuilder:validation:Enum=Preserve;Generate;PreserveOrGenerate;Off
type RequestID string

// CertificateMode says what is told of a client's certificate.
//
// +kubebuilder:validation:Enum=Sanitize;ForwardOnly;AppendForward;SanitizeSet
type CertificateMode string

// CertificateDetail is a part of a certificate.
//
// +kubebuilder:validation:Enum=Subject;URI;DNS;Cert;Chain
type CertificateDetail string
