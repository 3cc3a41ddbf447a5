package tokenreview

import (
	"encoding/base64"
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxToken is how long a token may be, in bytes: one of a ServiceAccount has about 1,000.
const maxToken = 16 << 10

// claims is what a token says of itself (RFC 7519). Only the API server can tell whether it is true, so claims are good
// for refusing a token without asking, and never for accepting one.
type claims struct {
	Subject  string    `json:"sub"`
	Audience audiences `json:"aud"`
	Expires  float64   `json:"exp"`
}

// audiences are one name or a list of them.
type audiences []string

func (a *audiences) UnmarshalJSON(text []byte) error {
	var one string
	if stdjson.Unmarshal(text, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return stdjson.Unmarshal(text, (*[]string)(a))
}

// claimsOf reads the claims of a signed token; ok is false if it is none.
func claimsOf(token string) (c claims, ok bool) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return claims{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	return c, err == nil && stdjson.Unmarshal(text, &c) == nil
}

// ParseClaims reads what a signed token says of itself: for whom it is, and when it ends (zero: it does not say). ok is
// false if it is none, or longer than tokens are. None of it is verified.
func ParseClaims(token string) (audiences []string, ends time.Time, ok bool) {
	c, ok := claimsOf(token)
	return c.Audience, c.expiry(), ok
}

// expiry is when the token ends; zero: never.
func (c claims) expiry() time.Time {
	if c.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(c.Expires), 0)
}

// checkClaims says why a token can't be one for the audience and from an account that may be a proxy's; nil: it may be.
// Its issuer and its signature are the API server's to judge.
func (r *Reviewer) checkClaims(token string) error {
	c, ok := claimsOf(token)
	namespace, name, isAccount := accountOf(c.Subject)
	switch {
	case token == "":
		return fmt.Errorf("%w: there is none", ErrRefused)
	case !ok || !isAccount:
		return fmt.Errorf("%w: it is not a token of a ServiceAccount", ErrRefused)
	case !slices.Contains(c.Audience, r.audience):
		return fmt.Errorf("%w: it is not for the audience %s", ErrRefused, r.audience)
	case !r.account(name):
		return fmt.Errorf("%w: ServiceAccount %.253s/%.253s does not belong to a Gateway", ErrRefused, namespace,
			name)
	case !c.expiry().After(r.now().Add(-clockSkew)):
		return fmt.Errorf("%w: it has expired, or has no time at which it expires", ErrRefused)
	}
	return nil
}

// clockSkew is how far the clocks of this program and of the API server may differ.
const clockSkew = time.Minute

// accountOf reads which ServiceAccount a user is.
func accountOf(user string) (namespace, name string, is bool) {
	account, is := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, name, whole := strings.Cut(account, ":")
	return namespace, name, is && whole && namespace != "" && name != ""
}
