package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"cardea.dev/cardea/internal/core/ledger"
)

// discoveryTimeout is how long an issuer may take to answer where its keys are.
const discoveryTimeout = 10 * time.Second

// OIDC is an issuer of ID tokens.
type OIDC struct {
	Issuer   string // "https://accounts.example.com"
	Audience string // the client ID that tokens must be made for
	Subject  string // the claim that is the subject; "": "sub"
	Groups   string // the claim that lists groups; "": "groups"
	// SubjectPrefix and GroupsPrefix are put before what the claims say, so that an issuer's name is never the same as
	// a name in a token of the ledger.
	SubjectPrefix string
	GroupsPrefix  string
	Client        *http.Client // nil: the default one
}

// verifier verifies the tokens of one issuer. The issuer is asked for its keys by the first token, and again as long as
// it did not answer.
type verifier struct {
	OIDC
	discovery  singleflight.Group                   // of keys: once at a time, for all that wait
	discovered atomic.Pointer[oidc.IDTokenVerifier] // nil: not yet
}

func newVerifier(c OIDC) *verifier {
	v := &verifier{OIDC: c}
	if v.Subject == "" {
		v.Subject = "sub"
	}
	if v.Groups == "" {
		v.Groups = "groups"
	}
	return v
}

// claimsIssuer tells whether a token says that it is of the issuer. Nothing of it is verified by this.
func (v *verifier) claimsIssuer(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(text, &claims) == nil && claims.Issuer == v.Issuer
}

// tokenVerifier finds out where the issuer's keys are. A caller that gives up does not end the search for the others.
func (v *verifier) tokenVerifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	if made := v.discovered.Load(); made != nil {
		return made, nil
	}
	found := v.discovery.DoChan("", func() (any, error) { return v.discoverIssuer() })
	select {
	case <-ctx.Done():
		return nil, issuerUnreachable(v.Issuer, context.Cause(ctx))
	case r := <-found:
		if r.Err != nil {
			return nil, issuerUnreachable(v.Issuer, r.Err)
		}
		return r.Val.(*oidc.IDTokenVerifier), nil
	}
}

func (v *verifier) discoverIssuer() (*oidc.IDTokenVerifier, error) {
	client := http.Client{}
	if v.Client != nil {
		client = *v.Client
	}
	if client.Timeout == 0 {
		client.Timeout = discoveryTimeout
	}
	// The provider keeps this context for reading keys later, so it is not a request's.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.Background(), &client), v.Issuer)
	if err != nil {
		return nil, err
	}
	made := provider.Verifier(&oidc.Config{ClientID: v.Audience})
	v.discovered.Store(made)
	return made, nil
}

func issuerUnreachable(issuer string, cause error) error {
	return &ledger.Error{Code: ledger.Unavailable, Object: "OIDC issuer " + issuer, Message: "can't be asked for its keys",
		Fix: "check the issuer's URL, and that it can be reached", Cause: cause}
}

// verifyToken is the owner of an ID token.
func (v *verifier) verifyToken(ctx context.Context, token string) (ledger.Caller, error) {
	verifier, err := v.tokenVerifier(ctx)
	if err != nil {
		return ledger.Caller{}, err
	}
	id, err := verifier.Verify(ctx, token)
	if err != nil && strings.Contains(err.Error(), "fetching keys") {
		return ledger.Caller{}, issuerUnreachable(v.Issuer, err)
	}
	if err != nil {
		return ledger.Caller{}, &ledger.Error{Code: ledger.Unknown, Message: "the ID token is not valid: " +
			describeRefusal(err),
			Fix: "log in again", Cause: err}
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return ledger.Caller{}, unknownCaller("the ID token's claims can't be read", "log in again")
	}
	subject, _ := claims[v.Subject].(string)
	if subject == "" {
		return ledger.Caller{}, unknownCaller("the ID token has no claim "+v.Subject, "have the issuer add it")
	}
	if verified, stated := claims["email_verified"]; v.Subject == "email" && stated && verified != true {
		return ledger.Caller{}, unknownCaller("the ID token's email is not verified", "verify it at the issuer")
	}
	c := ledger.Caller{Subject: v.SubjectPrefix + subject}
	switch groups := claims[v.Groups].(type) {
	case string:
		c.Groups = []string{v.GroupsPrefix + groups}
	case []any:
		for _, g := range groups {
			if name, ok := g.(string); ok {
				c.Groups = append(c.Groups, v.GroupsPrefix+name)
			}
		}
	}
	return c, nil
}

// describeRefusal is why a token was not taken, as far as its sender may know.
func describeRefusal(err error) string {
	text := strings.TrimPrefix(err.Error(), "oidc: ")
	switch {
	case strings.Contains(text, "expired"):
		return "it has expired"
	case strings.Contains(text, "audience"):
		return "it is for another audience"
	case strings.Contains(text, "signature"):
		return "its signature is wrong"
	}
	return "it is malformed, or of another issuer"
}
