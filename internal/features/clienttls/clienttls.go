// Package clienttls is the feature `tls` of a ClientPolicy: how listeners speak TLS, and which certificates clients
// must show.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached, nor which certificates
// a listener shows. Start reading at Feature.
package clienttls

import (
	_ "embed"
	"fmt"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says how a listener speaks TLS. Fields that are not stated have Envoy's defaults.
type Spec struct {
	// MinVersion is the oldest version of TLS that is spoken. Default: "1.2". For older ones, cipherSuites has to
	// list some that they have.
	// +optional
	MinVersion Version `json:"minVersion,omitempty"`
	// MaxVersion is the newest version of TLS that is spoken. Default: "1.3".
	// +optional
	MaxVersion Version `json:"maxVersion,omitempty"`
	// CipherSuites of TLS up to version 1.2, the best first. Those of version 1.3 can't be chosen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	CipherSuites []CipherSuite `json:"cipherSuites,omitempty"`
	// Curves for the exchange of keys, the best first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Curves []Curve `json:"curves,omitempty"`
	// SignatureAlgorithms that are used and taken, the best first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	SignatureAlgorithms []SignatureAlgorithm `json:"signatureAlgorithms,omitempty"`
	// ALPN are the protocols that clients can choose, the best first. Default: h2, http/1.1.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	ALPN []Protocol `json:"alpn,omitempty"`
	// HandshakeTimeout bounds the handshake, from when the client has shown the name of the host; 10s if it is not stated.
	// Then the connection is closed.
	// +optional
	HandshakeTimeout *gatewayv1.Duration `json:"handshakeTimeout,omitempty"`
	// SessionTickets lets clients resume a session with a ticket, without a full handshake. Default: true. Listeners that
	// ask clients for certificates have no tickets, because a resumed session does not check the certificate again.
	// +optional
	SessionTickets *bool `json:"sessionTickets,omitempty"`
	// Fingerprints of the client's first message that are taken, for formats (%TLS_JA3_FINGERPRINT%,
	// %TLS_JA4_FINGERPRINT%). All listeners of a port have the same ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Fingerprints []Fingerprint `json:"fingerprints,omitempty"`
	// ClientValidation asks clients for certificates, and says which are valid. If it can't be read, connections are
	// closed. A change of authorities, revocations, names and hashes closes no connection; new ones are judged by it.
	// +optional
	ClientValidation *ClientValidation `json:"clientValidation,omitempty"`
}

// ClientValidation says which certificates of clients are valid.
type ClientValidation struct {
	// Mode says what becomes of connections without a valid certificate. Default: RequireAndVerify or, where the
	// Gateway says AllowInsecureFallback (spec.tls.frontend), Request. RequireAny needs an authority, though it takes
	// others' certificates. VerifyIfGiven can't be together with names and hashes: Envoy would require a certificate.
	// +optional
	Mode ValidationMode `json:"mode,omitempty"`
	// CACertificateRefs name ConfigMaps or Secrets with an entry ca.crt: the certificates (PEM) of the authorities that
	// sign the clients' certificates. Another namespace needs a ReferenceGrant. If the Gateway sets them for a listener
	// (spec.tls.frontend), a policy can't set others. Without authorities, the hashes say which certificates are valid.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	CACertificateRefs []gatewayv1.ObjectReference `json:"caCertificateRefs,omitempty"`
	// CRL is which certificates have been revoked.
	// +optional
	CRL *CRL `json:"crl,omitempty"`
	// SPKIHashes are SHA-256 hashes of public keys (SubjectPublicKeyInfo), in Base64. If these or certificateHashes are
	// stated, a certificate needs to have one of them, too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=44
	// +kubebuilder:validation:items:MaxLength=44
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9+/]{43}=$`
	SPKIHashes []string `json:"spkiHashes,omitempty"`
	// CertificateHashes are SHA-256 hashes of certificates (DER), in hexadecimal digits, with or without colons.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=64
	// +kubebuilder:validation:items:MaxLength=95
	// +kubebuilder:validation:items:Pattern=`^[0-9a-fA-F]{2}(:?[0-9a-fA-F]{2}){31}$`
	CertificateHashes []string `json:"certificateHashes,omitempty"`
	// SubjectAltNames are names. A certificate needs to have one of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	SubjectAltNames []SubjectAltName `json:"subjectAltNames,omitempty"`
	// AllowExpired takes certificates that have expired, or are not valid yet. Default: false.
	// +optional
	AllowExpired *bool `json:"allowExpired,omitempty"`
}

// CRL is which certificates have been revoked. It counts as a whole.
//
// +structType=atomic
type CRL struct {
	// Refs name ConfigMaps or Secrets with an entry ca.crl: lists of revoked certificates (PEM). Another namespace needs a
	// ReferenceGrant. If a list has expired, all certificates of its issuer are invalid.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Refs []gatewayv1.ObjectReference `json:"refs"`
	// OnlyLeaf looks for the client's own certificate only. Default: false; then there has to be a list of each
	// authority on the way to the root.
	// +optional
	OnlyLeaf bool `json:"onlyLeaf,omitempty"`
}

// SubjectAltName compares a name of a certificate. One of uri, dns, email and ip is stated.
type SubjectAltName struct {
	// URI is compared with each URI, a SPIFFE ID for example.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URI string `json:"uri,omitempty"`
	// DNS is compared with each DNS name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	DNS string `json:"dns,omitempty"`
	// Email is compared with each email address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Email string `json:"email,omitempty"`
	// IP is compared with each IP address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	IP string `json:"ip,omitempty"`
	// Type says how the name is compared.
	Type extend.TextMatchType `json:"type"`
}

// Value is the spec as read.
type Value struct {
	Min, Max     Version
	Suites       []CipherSuite
	Curves       []Curve
	Signatures   []SignatureAlgorithm
	ALPN         []Protocol
	Handshake    *time.Duration
	NoTickets    bool
	Fingerprints []Fingerprint
	Clients      *Clients // nil: nothing is stated of them
}

// Clients is how clients' certificates are judged.
type Clients struct {
	Mode         ValidationMode
	CA, CRL      string // in PEM
	OnlyLeaf     bool
	SPKI, Hashes []string
	Names        []SubjectAltName
	AllowExpired bool
}

// Feature is how listeners speak TLS. Nobody gets in without the validation that is stated.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "tls", Schema: schema, Levels: extend.AtListener, OnInvalid: extend.Deny,
	PortFields: []string{"fingerprints"}, TLSOnly: true,
	ServedAt: map[string]extend.ConnectionKinds{
		"": extend.OverTLS, "fingerprints": extend.OverPassthrough,
	},
	ClosingFields: []string{"clientValidation"},
	Read:          readSpec, Renders: renders, Describe: describeValue,
}

func describeValue(v Value) []string {
	if v.Clients == nil {
		return nil
	}
	return []string{fmt.Sprintf("clients' certificates: %s", v.Clients.Mode)}
}
