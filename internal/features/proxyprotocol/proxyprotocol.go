// Package proxyprotocol is the feature `proxyProtocol` of a ClientPolicy: load balancers that pass connections on say
// which client each one comes from.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package proxyprotocol

import (
	_ "embed"
	"fmt"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says that connections begin with a header of the PROXY protocol, in which a load balancer writes the address of
// its client. Cardea uses this address as the address of the connection. All listeners of a port have the same
// setting. Set it only if clients can reach the port only through load balancers: any other client could write any
// address.
type Spec struct {
	// Mode Required closes connections without the header; Optional takes them, with the address that they come from.
	// Default: Required.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// Versions of the protocol that are read. Default: both. A connection with a header of another version is
	// closed; with Optional, the header is not read, and is taken for what the client sends.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Versions []Version `json:"versions,omitempty"`
}

// Mode says what becomes of connections without the header.
// +kubebuilder:validation:Enum=Required;Optional
type Mode string

// The modes.
const (
	Required Mode = "Required"
	Optional Mode = "Optional"
)

// Version is a version of the PROXY protocol.
// +kubebuilder:validation:Enum=V1;V2
type Version string

// The versions: a line of text, and binary.
const (
	V1 Version = "V1"
	V2 Version = "V2"
)

// Value is the spec as read.
type Value struct {
	Optional bool
	Versions []Version
}

// Feature reads from load balancers which client a connection comes from.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "proxyProtocol", Schema: schema, Levels: extend.AtPort, OnInvalid: extend.Keep,
	ServedAt: map[string]extend.ConnectionKinds{"": extend.OverStreams},
	Read:     readSpec, Renders: renders, Describe: describeValue,
}

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{Optional: s.Mode == Optional, Versions: []Version{V1, V2}}
	if s.Mode != "" && s.Mode != Required && s.Mode != Optional {
		r.Field("mode").Refuse(fmt.Sprintf("%q is not a mode; write Required or Optional", s.Mode))
	}
	if v.Optional && r.Location().Connections == extend.OverTCP {
		// To find out whether there is a header, the first bytes would be awaited, and a server may speak first.
		r.Field("mode").Refuse("a listener of protocol TCP can't wait for a header that may be missing; write Required, as " +
			"which it counts until then")
		v.Optional = false
	}
	known := true
	for i, version := range s.Versions {
		if _, found := protoVersions[version]; !found {
			known = false
			r.Field(fmt.Sprintf("versions[%d]", i)).Refuse(fmt.Sprintf("%q is not a version; write V1 or V2", version))
		}
	}
	if known && len(s.Versions) > 0 {
		v.Versions = s.Versions
	}
	return v
}

func describeValue(v Value) []string {
	if v.Optional {
		return []string{"connections may begin with a header of the PROXY protocol"}
	}
	return []string{"connections have to begin with a header of the PROXY protocol"}
}
