// Package compression is the feature `compression` of a TrafficPolicy: which answers are compressed, and how.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package compression

import (
	_ "embed"
	"fmt"
	"mime"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec compresses answers for clients that accept it, but for pages of errorResponses. An answer that the backend has
// compressed stays as it is. The ETag of a compressed answer becomes weak, and it has no Accept-Ranges
// and no digests (Content-Digest, Repr-Digest, Digest, Content-MD5).
type Spec struct {
	// Algorithms that are used. Where a client accepts several alike, the first of the list counts; if that is not among
	// them, the one that the client names first. Default: Zstd, Brotli, Gzip.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Algorithms []Algorithm `json:"algorithms,omitempty"`
	// MinSize is the size from which an answer is compressed, in bytes; 1Ki if it is not stated. Answers that do not tell
	// their size are always compressed.
	// +optional
	MinSize *resource.Quantity `json:"minSize,omitempty"`
	// ContentTypes are the types of answers that are compressed, without parameters: text/html. Default: those of
	// texts, of JSON, XML and JavaScript, and image/svg+xml.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=128
	ContentTypes []string `json:"contentTypes,omitempty"`
}

// Algorithm is a way to compress.
// +kubebuilder:validation:Enum=Zstd;Brotli;Gzip
type Algorithm string

// Value is the spec as read.
type Value struct {
	Algorithms   []Algorithm // each once
	MinSize      uint32      // bytes
	ContentTypes []string    // in small letters
}

// Feature is the compression of answers.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "compression", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Skip,
	Read: readSpec, Renders: renders, Judge: extend.PassAll[Value],
}

// Defaults, for fields that are not stated.
var (
	defaultAlgorithms        = []Algorithm{"Zstd", "Brotli", "Gzip"}
	defaultMinSize    uint32 = 1 << 10
	defaultTypes             = []string{
		"text/html", "text/plain", "text/css", "text/csv", "text/xml", "text/javascript", "text/markdown", "application/json",
		"application/problem+json", "application/javascript", "application/xml", "application/xhtml+xml",
		"application/manifest+json", "image/svg+xml",
	}
)

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{MinSize: defaultMinSize, ContentTypes: defaultTypes}
	seen := map[Algorithm]bool{}
	for i, a := range s.Algorithms {
		switch {
		case libraries[a] == nil:
			r.Field(fmt.Sprintf("algorithms[%d]", i)).Refuse(fmt.Sprintf("%q is not known; write Zstd, Brotli or Gzip", a))
		case seen[a]:
			r.Field(fmt.Sprintf("algorithms[%d]", i)).Refuse(fmt.Sprintf("%s is stated twice; state it once", a))
		default:
			v.Algorithms = append(v.Algorithms, a)
		}
		seen[a] = true
	}
	if len(s.Algorithms) == 0 {
		v.Algorithms = defaultAlgorithms
	}
	if s.MinSize != nil {
		size, err := extend.Size32(*s.MinSize)
		if err != nil {
			r.Field("minSize").Refuse(err.Error())
		}
		v.MinSize = size
	}
	if len(s.ContentTypes) > 0 {
		v.ContentTypes = nil
	}
	for i, t := range s.ContentTypes {
		if why := checkType(t); why != "" {
			r.Field(fmt.Sprintf("contentTypes[%d]", i)).Refuse(why)
			continue
		}
		v.ContentTypes = append(v.ContentTypes, strings.ToLower(t))
	}
	return v
}

// checkType says why answers of a type can't be compressed; "" if they can.
func checkType(t string) string {
	parsed, params, err := mime.ParseMediaType(t)
	switch {
	case err != nil || len(params) > 0 || !strings.Contains(parsed, "/") || strings.Contains(parsed, "*"):
		return fmt.Sprintf("%q is not a type without parameters; write text/html", t)
	case parsed == "text/event-stream":
		return "compression would delay events, which clients need at once; leave the type out"
	case strings.HasPrefix(parsed, "application/grpc"):
		return "gRPC compresses its messages by itself; leave the type out"
	}
	return ""
}
