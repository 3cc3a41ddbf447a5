// Package basicauth is the feature `basicAuth` of a SecurityPolicy: users with passwords.
//
// It owns the fields, the format of files of users, and what Envoy makes of them. It must never know how policies are
// attached. Start reading at Feature.
package basicauth

import (
	_ "embed"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec asks for a user's name and password (RFC 7617). A request without, or with wrong ones, is answered with 401. The
// backend gets the header Authorization as it was sent; a TrafficPolicy's headers.request.remove takes it off.
type Spec struct {
	// UsersRef names a Secret. Its entry .htpasswd has a user on each line, as `htpasswd -s` writes it: user:{SHA}hash.
	// Other hashes are refused: Envoy reads none.
	// +optional
	// +structType=atomic
	UsersRef *gatewayv1.SecretObjectReference `json:"usersRef,omitempty"`
	// Realm is what browsers show of the place that the password is for; "restricted" if nothing is stated.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Realm string `json:"realm,omitempty"`
	// UserHeader is a header in which the backend gets the user's name. If clients send this header, the proxy removes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	UserHeader string `json:"userHeader,omitempty"`
}

// Value is the spec as read.
type Value struct {
	Users      extend.Bytes // lines of user:{SHA}hash
	From       string       // the Secret
	Realm      string
	UserHeader string // in small letters
	// Missing: what has no user and password passes, since another method may accept it.
	Missing bool
}

// Feature is authentication by password.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.SecurityPolicy, Name: "basicAuth", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Group: "authentication", DisabledWith: extend.Authentication, SkipHTTPSRedirect: true,
	Read: readSpec, Renders: renders, Judge: judgeRequest, Describe: describeValue, Sets: listIdentityHeaders,
}

// usersKey is the entry of the Secret.
const usersKey = ".htpasswd"

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{Realm: s.Realm, UserHeader: strings.ToLower(s.UserHeader), Missing: extend.AnyMethod(r)}
	if v.Realm == "" {
		v.Realm = "restricted"
	}
	if strings.ContainsFunc(v.Realm, func(c rune) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' }) {
		r.Field("realm").Refuse("a realm can't have a quote, a backslash or a control character; leave it out")
	}
	if why := extend.CheckIdentityHeader(v.UserHeader); v.UserHeader != "" && why != "" {
		r.Field("userHeader").Refuse(why)
	}
	if s.UsersRef == nil {
		r.Refuse("name the Secret of the users in usersRef")
		return v
	}
	v.From = extend.SecretName(*s.UsersRef)
	r = r.Field("usersRef")
	data, found := r.Secret(*s.UsersRef)
	if !found {
		return v
	}
	text, found := data[usersKey]
	if !found {
		r.Refuse(fmt.Sprintf("Secret %s has no entry %s; it has: %s", v.From, usersKey,
			strings.Join(slices.Sorted(maps.Keys(data)), ", ")))
		return v
	}
	users, err := parseUsers(string(text))
	if err != nil {
		r.Refuse(fmt.Sprintf("Secret %s, entry %s: %v", v.From, usersKey, err))
	}
	v.Users = extend.Bytes(users)
	return v
}

func judgeRequest(q extend.Request, v Value) []extend.Verdict {
	refused := extend.Verdict{Status: http.StatusUnauthorized}
	if _, found := strings.CutPrefix(q.Header.Get("Authorization"), "Basic "); found {
		refused.If = "user and password match a line of Secret " + v.From
	} else if v.Missing {
		return nil
	} else {
		refused.Why = "it has no user and password"
	}
	return []extend.Verdict{refused}
}

func describeValue(v Value) []string { return []string{"a user and password of Secret " + v.From} }
