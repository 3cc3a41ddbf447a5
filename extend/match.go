package extend

import (
	"slices"
	"strings"
)

// RequestMatch says which requests are meant. All that is stated must hold. Hosts, methods, paths, addresses, users and
// certificates are lists of which one must hold; of headers, query parameters and claims each one must hold.
//
// +kubebuilder:validation:MinProperties=1
// +structType=atomic
type RequestMatch struct {
	RequestParts `json:",inline"`

	// Not excludes the requests that match all of this.
	// +optional
	Not *RequestParts `json:"not,omitempty"`
}

// RequestParts are the parts of a RequestMatch.
//
// +kubebuilder:validation:MinProperties=1
// +structType=atomic
type RequestParts struct {
	// Hosts are names of hosts, without a port, or wildcards: *.example.com is every name below example.com.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Hosts []string `json:"hosts,omitempty"`
	// Methods are HTTP methods, in capital letters as clients send them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^[A-Z][A-Z-]*$`
	// +kubebuilder:validation:items:MaxLength=32
	Methods []string `json:"methods,omitempty"`
	// Paths are compared with the request's path, without its query, as routes compare it: dots and slashes that are
	// written twice are gone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Paths []PathMatch `json:"paths,omitempty"`
	// Headers of the request; each must match. Of a header that was sent several times, one value must.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Headers []NamedMatch `json:"headers,omitempty"`
	// Query are parameters of the request's query; each must match. Of a parameter that was sent several times, one value
	// must. Names and values are compared decoded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Query []NamedMatch `json:"query,omitempty"`
	// ClientCIDRs are ranges of the client's address, as the ClientPolicy finds it: 10.0.0.0/8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=50
	ClientCIDRs []string `json:"clientCIDRs,omitempty"`
	// Claims of the token that the request brought, and that was accepted; each must match.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Claims []ClaimMatch `json:"claims,omitempty"`
	// Users are names: of a user of basic authentication, the client of an API key, or the subject of an accepted token.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Users []string `json:"users,omitempty"`
	// Certificates are names in the client's certificate. It must be valid by the listener's authorities.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Certificates []CertificateMatch `json:"certificates,omitempty"`
	// CEL is an expression that must be true: request.headers['x-team'] == 'dev'. It has the attributes of requests,
	// connections and metadata that Envoy documents, and no macros but has(). A header that was sent
	// several times is one text with commas in it; headers of the match compare each value. If it can't be evaluated, the
	// request is refused: it matches nothing that allows, and does not pass what denies.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	CEL string `json:"cel,omitempty"`
}

// PathMatchType says how a path is compared.
// +kubebuilder:validation:Enum=Exact;PathPrefix;RegularExpression
type PathMatchType string

// The types of PathMatch.
const (
	PathExact             PathMatchType = "Exact"
	PathPrefix            PathMatchType = "PathPrefix"
	PathRegularExpression PathMatchType = "RegularExpression"
)

// PathMatch compares a path.
type PathMatch struct {
	// Type says how: PathPrefix compares whole elements, so /a is a prefix of /a and /a/b, and not of /ab. An expression
	// (RE2) must match all of the path.
	Type PathMatchType `json:"type"`
	// Value is the path, its prefix, or the expression.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// MatchType says how a text is compared.
// +kubebuilder:validation:Enum=Exact;Prefix;Suffix;Contains;RegularExpression;Present
type MatchType string

// TextMatchType says how a text that is always there is compared.
// +kubebuilder:validation:Enum=Exact;Prefix;Suffix;Contains;RegularExpression
type TextMatchType string

// The values of MatchType, and but for Present of TextMatchType.
const (
	Exact             = "Exact"
	Prefix            = "Prefix"
	Suffix            = "Suffix"
	Contains          = "Contains"
	RegularExpression = "RegularExpression"
	Present           = "Present"
)

// NamedMatch compares the value of a header or of a query parameter.
type NamedMatch struct {
	// Name of the header, in any case, or of the parameter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Type says how values are compared. Present: it is there, with any value. RegularExpression (RE2) must match all of
	// the value; it is for headers only.
	Type MatchType `json:"type"`
	// Values of which one must match; none for Present.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Values []string `json:"values,omitempty"`
	// IgnoreCase takes small and capital letters (a to z) for the same.
	// +optional
	IgnoreCase bool `json:"ignoreCase,omitempty"`
}

// ClaimMatch compares a claim of a token. Of a claim that is a list, one element must match.
type ClaimMatch struct {
	// Claim is its name, with dots between the names of nested claims: realm.roles. A dot or a backslash in a name is
	// written with a backslash before it: https://example\.com/roles.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Claim string `json:"claim"`
	// Provider is the name of the one who issued the token. Without it, any will do.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Provider string `json:"provider,omitempty"`
	// Type says how values are compared. Present: the claim is there. Exact also compares numbers, true and false.
	Type MatchType `json:"type"`
	// Values of which one must match; none for Present.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Values []string `json:"values,omitempty"`
}

// CertificateMatch compares a name in the client's certificate. One of uri, dns and subject is stated.
type CertificateMatch struct {
	// URI is compared with each URI among the certificate's names, a SPIFFE ID for example.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URI string `json:"uri,omitempty"`
	// DNS is compared with each DNS name of the certificate.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	DNS string `json:"dns,omitempty"`
	// Subject is the certificate's subject as RFC 2253 writes it, CN=a,O=example. The type is Exact.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Subject string `json:"subject,omitempty"`
	// Type says how the name is compared.
	Type TextMatchType `json:"type"`
}

// NeedsIdentity tells whether a match depends on who sent the request, so that it can be evaluated after authentication
// only. An expression may depend on that.
func (m RequestMatch) NeedsIdentity() bool {
	return m.RequestParts.needsIdentity() || m.Not != nil && m.Not.needsIdentity()
}

// ByAddress tells whether a match depends on the client's address.
func (m RequestMatch) ByAddress() bool {
	return len(m.ClientCIDRs) > 0 || m.Not != nil && len(m.Not.ClientCIDRs) > 0
}

// ReadsHeaders tells whether a match depends on one of some headers, whose names are in small letters.
func (m RequestMatch) ReadsHeaders(headers []string) bool {
	return m.RequestParts.readsHeaders(headers) || m.Not != nil && m.Not.readsHeaders(headers)
}

// HeaderNames are the headers that a match depends on, in small letters; AnyHeader: it can't be told which.
func (m RequestMatch) HeaderNames() []string {
	names := m.headerNames()
	if m.Not != nil {
		names = append(names, m.Not.headerNames()...)
	}
	return names
}

func (p RequestParts) headerNames() []string {
	names := celHeaders(p.CEL)
	for _, h := range p.Headers {
		names = append(names, strings.ToLower(h.Name))
	}
	return names
}

func (p RequestParts) readsHeaders(headers []string) bool {
	return len(headers) > 0 && len(celHeaders(p.CEL)) > 0 || slices.ContainsFunc(p.Headers, func(h NamedMatch) bool {
		return slices.Contains(headers, strings.ToLower(h.Name))
	})
}

func (p RequestParts) needsIdentity() bool {
	return len(p.Claims) > 0 || len(p.Users) > 0 || celNeedsIdentity(p.CEL)
}
