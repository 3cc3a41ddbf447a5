// Package clientaddress is the feature `clientAddress` of a ClientPolicy: which address counts as the client's.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package clientaddress

import (
	_ "embed"
	"fmt"
	"strings"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says which address counts as the client's: one of xForwardedFor, header and connection. Authorization by
// addresses, limits and hash keys per address, and formats (DOWNSTREAM_REMOTE_ADDRESS) use it. It counts as a whole.
// Default: connection.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Spec struct {
	// XForwardedFor finds it in the header X-Forwarded-For, in which each proxy on the way writes the address of its peer.
	// +optional
	XForwardedFor *XForwardedFor `json:"xForwardedFor,omitempty"`
	// Header finds it in a header that a proxy before the Gateway sets. State it only if clients can't get to the Gateway
	// but through such a proxy: who can may write any address.
	// +optional
	Header *Header `json:"header,omitempty"`
	// Connection is the address that the connection comes from.
	// +optional
	Connection *extend.Empty `json:"connection,omitempty"`
}

// XForwardedFor says who is trusted to write X-Forwarded-For: one of trustedHops and trustedCIDRs.
//
// +kubebuilder:validation:XValidation:rule="has(self.trustedHops) != has(self.trustedCIDRs)",message="state one of trustedHops and trustedCIDRs"
type XForwardedFor struct {
	// TrustedHops is how many proxies there are before the Gateway: with 1 the last address of the header counts, with 2
	// the last but one. If the header has fewer, or the entry is no address, the connection's address counts.
	// X-Forwarded-Proto of such proxies is believed, too.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=255
	TrustedHops *int32 `json:"trustedHops,omitempty"`
	// TrustedCIDRs are the networks of proxies: 10.0.0.0/8. If the connection comes from one of them, the client
	// address is the last address of the header that is in none of them, or the first if all are. Otherwise it is the
	// address of the connection. X-Forwarded-Proto and X-Request-Id reach backends unchanged from every sender, because
	// Envoy does not distinguish trusted peers here.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=50
	TrustedCIDRs []string `json:"trustedCIDRs,omitempty"`
	// Append adds the connection's address to the header that backends get. Default: true. A connection that comes
	// from none of trustedCIDRs has its address added in any case.
	// +optional
	Append *bool `json:"append,omitempty"`
}

// Header is a header with nothing but the client's address.
type Header struct {
	// Name of the header, in any case.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// RejectWithout answers requests with 403 that have no address in the header. Default: false; the connection's
	// address counts for them.
	// +optional
	RejectWithout bool `json:"rejectWithout,omitempty"`
}

// Value is the spec as read. Neither Hops nor CIDRs nor Header: the connection's address.
type Value struct {
	Hops   int32
	CIDRs  []string
	Append bool
	Header string
	Reject bool
}

// Feature is which address counts as the client's.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "clientAddress", Schema: schema, Levels: extend.AtListener, OnInvalid: extend.Deny,
	ServedAt: map[string]extend.ConnectionKinds{"connection": extend.OverStreams | extend.OverUDP},
	Read:     readSpec, Renders: renders, Describe: describeValue,
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	stated := 0
	for _, has := range []bool{s.XForwardedFor != nil, s.Header != nil, s.Connection != nil} {
		if has {
			stated++
		}
	}
	if stated != 1 {
		r.Refuse(fmt.Sprintf("%d of xForwardedFor, header and connection are stated; state one", stated))
		return v
	}
	if s.XForwardedFor != nil {
		return readForwarded(r.Field("xForwardedFor"), *s.XForwardedFor)
	}
	if s.Header != nil {
		return readHeader(r.Field("header"), *s.Header)
	}
	return v
}

// maxTrustedHops is the maximum of trustedHops.
const maxTrustedHops = 255

func readForwarded(r extend.Reader, x XForwardedFor) (v Value) {
	v.Append = x.Append == nil || *x.Append
	switch {
	case (x.TrustedHops != nil) == (len(x.TrustedCIDRs) > 0):
		r.Refuse("state one of trustedHops and trustedCIDRs")
	case x.TrustedHops == nil:
		v.CIDRs = readCIDRs(r, x.TrustedCIDRs)
	case *x.TrustedHops < 1 || *x.TrustedHops > maxTrustedHops:
		r.Field("trustedHops").Refuse(fmt.Sprintf("%d is not a number from 1 to %d", *x.TrustedHops, maxTrustedHops))
	default:
		v.Hops = *x.TrustedHops
	}
	return v
}

// readCIDRs reads networks; none if one of them is wrong.
func readCIDRs(r extend.Reader, list []string) []string {
	wrong := false
	for i, cidr := range list {
		field, problems := fmt.Sprintf("trustedCIDRs[%d]", i), extend.CheckCIDR(cidr)
		extend.Refuse(r, field, problems)
		wrong = wrong || len(problems) > 0
		if strings.HasSuffix(cidr, "/0") {
			r.Field(field).Warn("it trusts every proxy, so each client can choose the address that is used as its own; state " +
				"only the networks of your proxies")
		}
	}
	if wrong {
		return nil
	}
	return list
}

func readHeader(r extend.Reader, h Header) Value {
	name := strings.ToLower(h.Name)
	problems := extend.CheckHeaderName(name)
	switch {
	case len(problems) > 0:
		extend.Refuse(r, "name", problems)
	case name == "host":
		r.Field("name").Refuse("it does not contain a client's address; name a header that does")
	case name == "x-forwarded-for":
		r.Field("name").Refuse("it may have several addresses; state xForwardedFor instead of header")
	default:
		return Value{Header: name, Reject: h.RejectWithout}
	}
	return Value{}
}

func describeValue(v Value) []string {
	switch {
	case v.Hops > 0:
		return []string{fmt.Sprintf("the client's address is entry %d of X-Forwarded-For, counted from the end", v.Hops)}
	case len(v.CIDRs) > 0:
		return []string{"the client's address is the last one in X-Forwarded-For that is not a trusted proxy's"}
	case v.Header != "":
		return []string{"the client's address is that in the header " + v.Header}
	}
	return []string{"the client's address is the connection's"}
}
