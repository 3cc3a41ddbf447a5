package extend

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// HashKey is a part of a request of which the backend's endpoint is chosen: equal values, equal endpoint.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type HashKey struct {
	// Header is the name of a header.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header *string `json:"header,omitempty"`
	// Cookie is a cookie, which the proxy can set by itself.
	// +optional
	Cookie *HashCookie `json:"cookie,omitempty"`
	// Query is the name of a query parameter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Query *string `json:"query,omitempty"`
	// ClientAddress is the client's address.
	// +optional
	ClientAddress *Empty `json:"clientAddress,omitempty"`
}

// HashCookie is a cookie. With a ttl the proxy sets it for clients that have none, always as HttpOnly; without, only
// one that applications set counts.
type HashCookie struct {
	// Name of the cookie.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// TTL is how long clients keep the cookie that the proxy sets; 0s: until the browser is closed.
	// +optional
	TTL *gatewayv1.Duration `json:"ttl,omitempty"`
	// Path is for which requests clients send it: those below the path. Default: all.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path *string `json:"path,omitempty"`
	// SameSite says whether browsers send it with requests that other sites cause.
	// +optional
	SameSite *SameSite `json:"sameSite,omitempty"`
	// Secure: clients send it over TLS only.
	// +optional
	Secure *bool `json:"secure,omitempty"`
}

// SameSite says which requests a browser sends a cookie with.
// +kubebuilder:validation:Enum=Strict;Lax;None
type SameSite string

// sameSites are those that browsers know.
var sameSites = []SameSite{"Strict", "Lax", "None"}

// Validate tells what of it can't be served.
func (k HashKey) Validate() []Problem {
	return collectProblems(func(f problemList) {
		requireOne(f, map[string]bool{
			"header": k.Header != nil, "cookie": k.Cookie != nil, "query": k.Query != nil,
			"clientAddress": k.ClientAddress != nil,
		})
		checkNames(f, k.Header, nil, k.Query)
		if k.Cookie != nil {
			k.Cookie.checkCookie(f.atField("cookie"))
		}
	})
}

func (c HashCookie) checkCookie(f problemList) {
	if !isToken(c.Name) {
		f.atField("name").addProblem("%q is not the name of a cookie", c.Name)
	}
	if c.TTL == nil && (c.Path != nil || c.SameSite != nil || c.Secure != nil) {
		f.addProblem("path, sameSite and secure apply only to a cookie that the proxy sets; state ttl, too")
	}
	if c.TTL != nil {
		if _, err := Duration(*c.TTL); err != nil {
			f.atField("ttl").addProblem("%v", err)
		}
	}
	if c.Path != nil && (!strings.HasPrefix(*c.Path, "/") || strings.ContainsFunc(*c.Path, notInCookies)) {
		f.atField("path").addProblem("%q is not the path of a cookie; write /, or /a", *c.Path)
	}
	switch {
	case c.SameSite == nil:
	case !slices.Contains(sameSites, *c.SameSite):
		f.atField("sameSite").addProblem("%q is not known; write Strict, Lax or None", *c.SameSite)
	case *c.SameSite == "None" && (c.Secure == nil || !*c.Secure):
		f.atField("sameSite").addProblem("browsers drop a cookie with None that is not secure; state secure: true")
	}
}

// notInCookies are the characters that no attribute of a cookie can have.
func notInCookies(c rune) bool { return c < ' ' || c == ';' || c >= 0x7f }
