package clienthttp

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/extend"
)

// Value is what is stated, as read; nil and "": nothing is stated.
type Value struct {
	EscapedSlashes EscapedSlashes
	MergeSlashes   *bool
	MaxSizeKi      *uint32
	MaxCount       *uint32
	Underscores    Underscores
	Early          []extend.HeaderChange
	Server         Server
	Via            string
	RequestID      RequestID
	Certificates   CertificateMode
	Details        []CertificateDetail
	Continue       bool
}

// Feature is how listeners read requests.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "http", Schema: schema, Levels: extend.AtListener, OnInvalid: extend.Keep,
	Read: readSpec, Renders: renders,
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	if s.Path != nil {
		v.EscapedSlashes, v.MergeSlashes = valueOrZero(s.Path.EscapedSlashes), s.Path.MergeSlashes
	}
	if s.Headers != nil {
		v.readHeaders(r.Field("headers"), *s.Headers)
	}
	v.RequestID = valueOrZero(s.RequestID)
	if s.ForwardClientCertificate != nil {
		v.readCertificates(r.Field("forwardClientCertificate"), *s.ForwardClientCertificate)
	}
	v.Continue = valueOrZero(s.Proxy100Continue)
	return v
}

// valueOrZero is a value, or none.
func valueOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (v *Value) readHeaders(r extend.Reader, h Headers) {
	v.Underscores, v.Server = valueOrZero(h.Underscores), valueOrZero(h.Server)
	if h.MaxSize != nil {
		size, err := extend.Size(*h.MaxSize)
		if err == nil {
			v.MaxSizeKi, err = wholeKi(size)
		}
		if err != nil {
			r.Field("maxSize").Refuse(err.Error())
		}
	}
	if h.MaxCount != nil {
		v.MaxCount = new(uint32(*h.MaxCount))
	}
	if h.Early != nil {
		v.Early = extend.ReadHeaders(r, "early", h.Early.toHeaderEdits())
	}
	if h.Via != nil {
		if isVia(*h.Via) {
			v.Via = *h.Via
		} else {
			r.Field("via").Refuse("it is not valid in a Via header; write a name without commas and line breaks: edge-1")
		}
	}
}

// The sizes that Envoy takes, in Ki.
const (
	minKi = 1
	maxKi = 8192
)

// wholeKi is a size in bytes in Ki.
func wholeKi(size uint64) (*uint32, error) {
	ki := size >> 10
	switch {
	case size%1024 != 0:
		return nil, fmt.Errorf("%d bytes is not a multiple of 1Ki; write %dKi", size, ki+1)
	case ki < minKi || ki > maxKi:
		return nil, fmt.Errorf("write %dKi to %dKi", minKi, maxKi)
	}
	return new(uint32(ki)), nil
}

func isVia(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' || c == ',' }) &&
		strings.TrimSpace(text) == text
}

func (v *Value) readCertificates(r extend.Reader, c ForwardClientCertificate) {
	v.Certificates, v.Details = valueOrZero(c.Mode), c.Details
	tells := v.Certificates == "AppendForward" || v.Certificates == "SanitizeSet"
	if len(c.Details) > 0 && !tells {
		r.Field("details").Refuse("it has no effect: this mode adds no certificate to requests; write mode: SanitizeSet " +
			"or AppendForward, or remove it")
	}
	if tells && r.Location().Plaintext {
		r.Field("mode").Warn("it has no effect here: a listener without TLS gets no client certificates")
	}
}
