package authorization

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// list is one of the lists of entries.
type list struct {
	name    string
	entries []Entry
}

func (v Value) lists() []list {
	return []list{{"deny", v.Deny}, {"require", v.Require}, {"allow", v.Allow}}
}

// methods are the features that find out who sent a request.
var methods = []string{"jwt", "oidc", "basicAuth", "apiKey"}

func read(r extend.Reader, s Spec) Value {
	v := Value{Deny: s.Deny, Require: s.Require, Allow: s.Allow}
	var jwt struct {
		Use       []string `json:"use"`
		Providers []struct {
			Name string `json:"name"`
		} `json:"providers"`
	}
	r.Effective("jwt", &jwt)
	for _, p := range jwt.Providers {
		if len(jwt.Use) == 0 || slices.Contains(jwt.Use, p.Name) {
			v.Providers = append(v.Providers, p.Name)
		}
	}
	known := slices.ContainsFunc(methods, func(feature string) bool {
		var stated struct{}
		return r.Effective(feature, &stated)
	})
	for _, l := range v.lists() {
		for _, e := range l.entries {
			at := r.Field(fmt.Sprintf("%s[%s]", l.name, e.Name))
			if len(e.Matches) == 0 {
				at.Refuse("it has no matches, so it would take no request; state matches")
			}
			for i, m := range e.Matches {
				field := fmt.Sprintf("matches[%d]", i)
				extend.Refuse(at, field, extend.Validate(m))
				identities(at.Field(field), m, v.Providers, known)
			}
		}
	}
	return v
}

// identities tells of claims and users that nothing finds.
func identities(r extend.Reader, m extend.RequestMatch, providers []string, known bool) {
	identitiesOf(r, "", m.RequestParts, providers, known)
	if m.Not != nil {
		identitiesOf(r, "not.", *m.Not, providers, known)
	}
}

func identitiesOf(r extend.Reader, prefix string, p extend.RequestParts, providers []string, known bool) {
	if len(p.Users) > 0 && !known {
		r.Field(prefix+"users").Unresolved("AuthenticationNotFound",
			"nothing finds out who sent a request; state "+strings.Join(methods, ", ")+" here or on a broader level")
	}
	for i, c := range p.Claims {
		at := r.Field(fmt.Sprintf("%sclaims[%d]", prefix, i))
		switch {
		case c.Provider != "" && !slices.Contains(providers, c.Provider):
			at.Field("provider").Unresolved("ProviderNotFound", fmt.Sprintf("no provider %s is in jwt.providers, here or on "+
				"a broader level%s", c.Provider, extend.Meant(c.Provider, providers)))
		case len(providers) == 0:
			at.Unresolved("ProviderNotFound", "no tokens are accepted; state jwt.providers here or on a broader level")
		}
	}
}
