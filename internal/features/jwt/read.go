package jwt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// defaultSkew is how much clocks may differ.
const defaultSkew = 60 * time.Second

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{Mode: s.Mode}
	if v.Mode == "" {
		v.Mode = Strict
	}
	if v.Mode == Strict && extend.AnyMethod(r) {
		v.Mode = Optional // `authentication` refuses what brings nothing for any method
	}
	if len(s.Providers) == 0 {
		r.Refuse("no provider is stated, here or at a broader level; state one in providers")
	}
	var names []string
	for _, p := range s.Providers {
		names = append(names, p.Name)
	}
	for _, name := range s.Use {
		if !slices.Contains(names, name) {
			r.Field("use").Refuse(fmt.Sprintf("there is no provider %s; there are: %s", name, strings.Join(names, ", ")))
		}
	}
	for _, p := range s.Providers {
		if s.Use == nil || slices.Contains(s.Use, p.Name) {
			v.Providers = append(v.Providers, p.readProvider(r.Field("providers["+p.Name+"]")))
		}
	}
	return v
}

func (p Provider) readProvider(r extend.Reader) ResolvedProvider {
	a := ResolvedProvider{
		Name: p.Name, Issuer: p.Issuer, Audiences: slices.Sorted(slices.Values(p.Audiences)), Subjects: p.Subjects,
		Forward: p.Forward != nil && *p.Forward, RequireExpiration: p.RequireExpiration == nil || *p.RequireExpiration,
		Skew: defaultSkew, From: readSources(r, p.From),
	}
	if p.Issuer == "" {
		r.Field("issuer").Refuse("state the issuer: the value of the claim iss in its tokens")
	}
	if p.Subjects != nil {
		extend.Refuse(r, "subjects", p.Subjects.Validate())
	}
	if p.ClockSkew != nil {
		a.Skew = wholeSeconds(r.Field("clockSkew"), *p.ClockSkew)
	}
	if p.MaxLifetime != nil {
		a.MaxLifetime = wholeSeconds(r.Field("maxLifetime"), *p.MaxLifetime)
	}
	for _, c := range p.ClaimsToHeaders {
		at := r.Field(fmt.Sprintf("claimsToHeaders[%s]", c.Header))
		if why := extend.CheckIdentityHeader(c.Header); why != "" {
			at.Refuse(why)
		}
		path, err := extend.ClaimPath(c.Claim)
		if err != nil {
			at.Field("claim").Refuse(err.Error())
		}
		a.Claims = append(a.Claims, Claim{Path: path, Header: strings.ToLower(c.Header)})
	}
	a.Keys = p.JWKS.readKeys(r)
	return a
}

func readSources(r extend.Reader, stated []TokenSource) (list []Source) {
	if len(stated) == 0 {
		return []Source{{Header: "authorization", Prefix: "Bearer "}}
	}
	for i, s := range stated {
		switch {
		case s.Header != nil && s.Query == nil && s.Cookie == nil:
			if why := extend.CheckSetHeader(s.Header.Name); why != "" {
				r.Field(fmt.Sprintf("from[%d].header", i)).Refuse(why)
			}
			list = append(list, Source{Header: strings.ToLower(s.Header.Name), Prefix: s.Header.Prefix})
		case s.Query != nil && s.Header == nil && s.Cookie == nil:
			list = append(list, Source{Query: *s.Query})
		case s.Cookie != nil && s.Header == nil && s.Query == nil:
			list = append(list, Source{Cookie: *s.Cookie})
		default:
			r.Field(fmt.Sprintf("from[%d]", i)).Refuse("state one of header, query and cookie")
		}
	}
	return list
}

// wholeSeconds reads a time that Envoy takes in seconds. 0 is refused, since it has another meaning for Envoy.
func wholeSeconds(r extend.Reader, d gatewayv1.Duration) time.Duration {
	t, err := extend.Duration(d)
	switch {
	case err != nil:
		r.Refuse(err.Error())
	case t < time.Second || t%time.Second != 0:
		r.Refuse("write whole seconds, 1s at least")
	}
	return t
}
