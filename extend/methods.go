package extend

import (
	"fmt"
	"slices"
	"strings"
)

// AuthenticationGroup is the Group of the features that find out who sent a request, and of those that need to know.
const AuthenticationGroup = "authentication"

// Authentication is the feature that says what holds for all methods. A level that turns it off turns all methods off.
const Authentication = "authentication"

// Methods are the features that find out who sent a request.
var Methods = []string{"jwt", "oidc", "basicAuth", "apiKey"}

// MethodsStated are those of Methods that are stated where a spec of their group is read.
func MethodsStated(r Reader) (list []string) {
	for _, feature := range Methods {
		if r.Effective(feature, new(struct{})) {
			list = append(list, feature)
		}
	}
	return list
}

// AnyMethod tells whether one of several methods is enough where a spec of their group is read. Each then lets pass
// what brings no credentials for it, and `authentication` refuses what brings none at all.
func AnyMethod(r Reader) bool {
	var authentication struct {
		Combine string `json:"combine"`
	}
	r.Effective(Authentication, &authentication)
	return authentication.Combine == "Any" && len(MethodsStated(r)) > 1
}

// IdentityField is a field that is about who sent a request.
type IdentityField struct {
	Field     string // "[orders].per[0]"
	Token     bool   // an accepted token tells it, and nothing else
	Otherwise string // what becomes of it where nothing tells it
}

// MethodNames are the methods that tell it.
func (i IdentityField) MethodNames() []string {
	if i.Token {
		return []string{"jwt"}
	}
	return []string{"jwt", "basicAuth", "apiKey"}
}

// DescribeMethods are the methods in words.
func (i IdentityField) DescribeMethods() string {
	if i.Token {
		return "jwt"
	}
	return "jwt, basicAuth or apiKey"
}

// Identities are what authentication finds out about requests where a spec of its group is read.
type Identities struct {
	Providers []string // of tokens that are accepted
	Users     bool     // who a user is
	// Headers are those in which authentication tells backends what it found, in small letters, and Later those that an
	// authorization server sets, which is asked when all else has been decided.
	Headers, Later []string
}

// ReadIdentities finds them.
func ReadIdentities(r Reader) (found Identities) {
	var jwt struct {
		Use       []string `json:"use"`
		Providers []struct {
			Name            string `json:"name"`
			ClaimsToHeaders []struct {
				Header string `json:"header"`
			} `json:"claimsToHeaders"`
		} `json:"providers"`
	}
	r.Effective("jwt", &jwt)
	for _, p := range jwt.Providers {
		for _, c := range p.ClaimsToHeaders {
			found.Headers = append(found.Headers, strings.ToLower(c.Header))
		}
		if len(jwt.Use) == 0 || slices.Contains(jwt.Use, p.Name) {
			found.Providers = append(found.Providers, p.Name)
		}
	}
	found.Users = len(MethodsStated(r)) > 0
	found.readHeaders(r)
	return found
}

// readHeaders finds the headers of other methods than tokens.
func (i *Identities) readHeaders(r Reader) {
	var basicAuth struct {
		UserHeader string `json:"userHeader"`
	}
	var apiKey struct {
		ClientHeader string `json:"clientHeader"`
	}
	var extAuth struct {
		HTTP struct {
			HeadersToBackend []string `json:"headersToBackend"`
		} `json:"http"`
	}
	r.Effective("basicAuth", &basicAuth)
	r.Effective("apiKey", &apiKey)
	r.Effective("extAuth", &extAuth)
	for _, name := range []string{basicAuth.UserHeader, apiKey.ClientHeader} {
		if name != "" {
			i.Headers = append(i.Headers, strings.ToLower(name))
		}
	}
	for _, name := range extAuth.HTTP.HeadersToBackend {
		i.Later = append(i.Later, strings.ToLower(name))
	}
}

// CheckMatch tells of claims and users of a match that nothing finds.
func (i Identities) CheckMatch(r Reader, m RequestMatch) {
	i.checkParts(r, "", m.RequestParts)
	if m.Not != nil {
		i.checkParts(r, "not.", *m.Not)
	}
}

func (i Identities) checkParts(r Reader, prefix string, p RequestParts) {
	for n, h := range p.Headers {
		if slices.Contains(i.Later, strings.ToLower(h.Name)) {
			r.Field(fmt.Sprintf("%sheaders[%d]", prefix, n)).Refuse(fmt.Sprintf("header %s is set by the server of extAuth, "+
				"which is called after this check; decide it there, or remove the header from "+
				"extAuth.http.headersToBackend", h.Name))
		}
	}
	if len(p.Users) > 0 && !i.Users {
		r.Field(prefix+"users").Unresolved("AuthenticationNotFound",
			"clients are not authenticated; state "+strings.Join(Methods, ", ")+" here or on a broader level")
	}
	for n, c := range p.Claims {
		at := r.Field(fmt.Sprintf("%sclaims[%d]", prefix, n))
		switch {
		case c.Provider != "" && !slices.Contains(i.Providers, c.Provider):
			at.Field("provider").Unresolved("ProviderNotFound", fmt.Sprintf("jwt.providers has no provider %s, here or on a "+
				"broader level%s", c.Provider, SuggestNames(c.Provider, i.Providers)))
		case len(i.Providers) == 0:
			at.Unresolved("ProviderNotFound", "no tokens are accepted; state jwt.providers here or on a broader level")
		}
	}
}
