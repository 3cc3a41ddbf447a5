package authentication

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{Challenge: s.WWWAuthenticate, Methods: extend.MethodsStated(r)}
	if strings.ContainsFunc(v.Challenge, func(c rune) bool { return c < ' ' || c >= 0x7f }) {
		r.Field("wwwAuthenticate").Refuse("it has a line break or another character that a header can't have")
	}
	if s.Required != nil && *s.Required && !requiresCredentials(r, v.Methods) {
		v.reportMissing(r)
	}
	if v.Any = extend.AnyMethod(r); !v.Any {
		return v
	}
	v.Providers = extend.ReadIdentities(r).Providers
	v.Places = credentialPlaces(r, v.Methods)
	for i, p := range v.Places {
		for _, other := range v.Places[:i] {
			if p.method != other.method && p.mayOverlap(other) {
				r.Field("combine").Refuse(fmt.Sprintf("%s and %s both read %s, so a request's credentials are ambiguous; state "+
					"another place in %s.from", other.method, p.method, p.describePlace(), movableMethod(other.method,
					p.method)))
			}
		}
	}
	if v.Challenge == "" {
		v.Challenge = buildChallenge(r, v.Methods)
	}
	return v
}

// reportMissing is said where authentication is required and there is no method.
func (v *Value) reportMissing(r extend.Reader) {
	const mend = "state jwt, basicAuth or apiKey"
	where := r.Location()
	r = r.Field("required")
	if where.Inherited {
		v.Nobody = true
		r.Warn("no authentication method is stated here: requests to rules without one get 500; " + mend)
		return
	}
	r.Deny(fmt.Sprintf("rule %s of %s has no authentication method, so its requests get 500; %s", where.Section,
		where.Object, mend))
}

// requiresCredentials tells whether no request passes all methods without credentials.
func requiresCredentials(r extend.Reader, methods []string) bool {
	var jwt struct {
		Mode string `json:"mode"`
	}
	r.Effective("jwt", &jwt)
	if slices.ContainsFunc(methods, func(m string) bool { return m != "jwt" || jwt.Mode == "" || jwt.Mode == "Strict" }) {
		return true
	}
	var extAuth struct {
		Mode      string `json:"mode"`
		OnFailure string `json:"onFailure"`
		When      []any  `json:"when"`
	}
	stated := r.Effective("extAuth", &extAuth)
	return stated && extAuth.Mode != "Shadow" && extAuth.OnFailure != "Allow" && len(extAuth.When) == 0 ||
		len(methods) > 1 && extend.AnyMethod(r) // which wants some credentials
}

// buildChallenge is what clients are told of several methods. For keys there is no scheme that clients know.
func buildChallenge(r extend.Reader, methods []string) string {
	var all []string
	if slices.Contains(methods, "basicAuth") {
		basic := struct {
			Realm string `json:"realm"`
		}{"restricted"}
		r.Effective("basicAuth", &basic)
		all = append(all, fmt.Sprintf("Basic realm=%q", basic.Realm))
	}
	if slices.Contains(methods, "jwt") || len(all) == 0 {
		all = append(all, "Bearer")
	}
	return strings.Join(all, ", ")
}

// Place is where credentials of a method can stand. One of Header, Query and Cookie is stated.
type Place struct {
	Header, Prefix, Query, Cookie string
	method                        string // the method
}

// credentialPlaces are those of all methods.
func credentialPlaces(r extend.Reader, methods []string) (list []Place) {
	for _, method := range methods {
		switch method {
		case "basicAuth":
			list = append(list, Place{Header: "authorization", Prefix: "Basic ", method: method})
		case "jwt":
			list = append(list, tokenPlaces(r)...)
		case "apiKey":
			list = append(list, keyPlaces(r)...)
		}
	}
	return list
}

// source is a place as jwt and apiKey state it: a header by its name, or with a prefix.
type source struct {
	Query, Cookie string
}

func tokenPlaces(r extend.Reader) (list []Place) {
	var jwt struct {
		Use       []string `json:"use"`
		Providers []struct {
			Name string `json:"name"`
			From []struct {
				source
				Header struct{ Name, Prefix string } `json:"header"`
			} `json:"from"`
		} `json:"providers"`
	}
	r.Effective("jwt", &jwt)
	for _, p := range jwt.Providers {
		if len(jwt.Use) > 0 && !slices.Contains(jwt.Use, p.Name) {
			continue
		}
		for _, f := range p.From {
			list = append(list, Place{
				Header: strings.ToLower(f.Header.Name), Prefix: f.Header.Prefix, Query: f.Query, Cookie: f.Cookie, method: "jwt",
			})
		}
		if len(p.From) == 0 {
			list = append(list, Place{Header: "authorization", Prefix: "Bearer ", method: "jwt"})
		}
	}
	return list
}

func keyPlaces(r extend.Reader) (list []Place) {
	var keys struct {
		From []struct {
			source
			Header string `json:"header"`
		} `json:"from"`
	}
	r.Effective("apiKey", &keys)
	for _, f := range keys.From {
		list = append(list, Place{Header: strings.ToLower(f.Header), Query: f.Query, Cookie: f.Cookie, method: "apiKey"})
	}
	if len(keys.From) == 0 {
		list = append(list, Place{Header: "authorization", method: "apiKey"})
	}
	return list
}

// mayOverlap tells whether credentials at one place may be taken for those at another one.
func (p Place) mayOverlap(other Place) bool {
	return p.Header == other.Header && p.Query == other.Query && p.Cookie == other.Cookie &&
		(strings.HasPrefix(p.Prefix, other.Prefix) || strings.HasPrefix(other.Prefix, p.Prefix))
}

// movableMethod is the method that can state another place for its credentials.
func movableMethod(one, other string) string {
	if one == "apiKey" || other == "apiKey" {
		return "apiKey"
	}
	return "jwt.providers[]"
}

func (p Place) describePlace() string {
	switch {
	case p.Header != "":
		return "the header " + p.Header
	case p.Query != "":
		return "the query parameter " + p.Query
	}
	return "the cookie " + p.Cookie
}

// presentIn tells whether a request has something at a place.
func (p Place) presentIn(q extend.Request) bool {
	switch {
	case p.Cookie != "":
		_, err := (&http.Request{Header: q.Header}).Cookie(p.Cookie)
		return err == nil
	case p.Query != "":
		_, query, _ := strings.Cut(q.Path, "?")
		values, err := url.ParseQuery(query)
		return err == nil && values.Has(p.Query)
	}
	return slices.ContainsFunc(q.Header.Values(p.Header), func(value string) bool {
		return value != "" && strings.HasPrefix(value, p.Prefix)
	})
}
