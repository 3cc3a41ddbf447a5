package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
)

// issuer is a little OIDC issuer: it publishes its keys, and signs what a test wants.
type issuer struct {
	*httptest.Server
	t     *testing.T
	key   *rsa.PrivateKey
	down  atomic.Bool
	asked chan struct{} // if not nil, it says so when it is asked, and answers when it is told to
	goOn  chan struct{}
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key}
	mux := http.NewServeMux()
	answer := func(path string, body func() any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			if i.asked != nil {
				i.asked <- struct{}{}
				<-i.goOn
			}
			if i.down.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(body())
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		return map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth",
			"token_endpoint": i.URL + "/token", "id_token_signing_alg_values_supported": []string{"RS256"}}
	})
	answer("/keys", func() any {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}}
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// sign makes an ID token with claims over the usual ones; nil takes one out.
func (i *issuer) sign(key any, algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	i.t.Helper()
	all := map[string]any{"iss": i.URL, "aud": "ledger", "sub": "u1", "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range claims {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		i.t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key},
		(&jose.SignerOptions{}).WithHeader("kid", "k"))
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}

func (i *issuer) token(claims map[string]any) string { return i.sign(i.key, jose.RS256, claims) }

func TestIDTokenNamesSubjectAndGroups(t *testing.T) {
	i, s := newIssuer(t), open(t)
	for _, c := range []struct {
		config auth.OIDC
		claims map[string]any
		want   ledger.Caller
	}{
		{auth.OIDC{}, nil, ledger.Caller{Subject: "u1"}},
		{auth.OIDC{}, map[string]any{"groups": []string{"a", "b"}, "aud": []string{"x", "ledger"}},
			ledger.Caller{Subject: "u1", Groups: []string{"a", "b"}}},
		{auth.OIDC{Subject: "email", Groups: "roles", SubjectPrefix: "oidc:", GroupsPrefix: "oidc:"},
			map[string]any{"email": "alice@example.com", "email_verified": true, "roles": "admin"},
			ledger.Caller{Subject: "oidc:alice@example.com", Groups: []string{"oidc:admin"}}},
		// What would make somebody more than a subject in a token of the ledger is a claim like any other here.
		{auth.OIDC{}, map[string]any{"cluster": "east", "Cluster": "east", "All": true}, ledger.Caller{Subject: "u1"}},
	} {
		c.config.Issuer, c.config.Audience = i.URL, "ledger"
		who, err := auth.New(auth.Config{Access: s, OIDC: &c.config}).IdentifyCaller(request(t, "Bearer "+i.token(c.claims)))
		if err != nil || who.Subject != c.want.Subject || strings.Join(who.Groups, ",") != strings.Join(c.want.Groups, ",") ||
			who.Cluster != "" || who.All {
			t.Errorf("%+v: %+v, %v, want %+v", c.claims, who, err, c.want)
		}
	}
}

func TestIDTokensThatAreNotTaken(t *testing.T) {
	i, other, s := newIssuer(t), newIssuer(t), open(t)
	c := auth.New(auth.Config{Access: s, OIDC: &auth.OIDC{Issuer: i.URL, Audience: "ledger"}})
	mails := auth.New(auth.Config{Access: s, OIDC: &auth.OIDC{Issuer: i.URL, Audience: "ledger", Subject: "email"}})
	good := i.token(nil)
	parts := strings.Split(good, ".")
	root := strings.Split(i.token(map[string]any{"sub": "root"}), ".")[1]
	for name, bad := range map[string]struct {
		callers *auth.Callers
		token   string
		words   string
	}{
		"expired":            {c, i.token(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "expired"},
		"for somebody else":  {c, i.token(map[string]any{"aud": "other"}), "another audience"},
		"of another key":     {c, i.sign(other.key, jose.RS256, nil), "signature"},
		"of another issuer":  {c, other.token(nil), "not known"},
		"changed":            {c, parts[0] + "." + root + "." + parts[2], "signature"},
		"not signed":         {c, "eyJhbGciOiJub25lIn0." + parts[1] + ".", ""},
		"signed with a word": {c, i.sign([]byte(strings.Repeat("k", 32)), jose.HS256, nil), ""},
		"without a subject":  {c, i.token(map[string]any{"sub": nil}), ""},
		"without an email":   {mails, i.token(nil), "email"},
		"not verified":       {mails, i.token(map[string]any{"email": "a@b", "email_verified": false}), "not verified"},
		"no token":           {c, "a.b.c", "not known"},
	} {
		_, err := bad.callers.IdentifyCaller(request(t, "Bearer "+bad.token))
		if ledger.CodeOf(err) != ledger.Unknown || !strings.Contains(err.Error(), bad.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIssuerThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	i := newIssuer(t)
	c := auth.New(auth.Config{Access: open(t), OIDC: &auth.OIDC{Issuer: i.URL, Audience: "ledger"}})
	i.down.Store(true)
	_, err := c.IdentifyCaller(request(t, "Bearer "+i.token(nil)))
	wants(t, err, ledger.Unavailable, "issuer")
	i.down.Store(false)
	if _, err := c.IdentifyCaller(request(t, "Bearer "+i.token(nil))); err != nil {
		t.Fatal(err)
	}
}

// TestIssuerThatDoesNotAnswerHoldsUpNobodyElse: while an issuer does not say where its keys are, who gives up is
// answered at once, other callers are known, and it is asked once for all who wait.
func TestIssuerThatDoesNotAnswerHoldsUpNobodyElse(t *testing.T) {
	i, s := newIssuer(t), open(t)
	c := auth.New(auth.Config{Access: s, OIDC: &auth.OIDC{Issuer: i.URL, Audience: "ledger"}})
	i.asked, i.goOn = make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if who, err := c.IdentifyCaller(request(t, "Bearer "+i.token(nil))); err != nil || who.Subject != "u1" {
				t.Errorf("who waited: %+v, %v", who, err)
			}
		})
	}
	<-i.asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.IdentifyCaller(request(t, "Bearer "+i.token(nil)).WithContext(gone))
	wants(t, err, ledger.Unavailable, "issuer")
	person, hash := auth.MintToken()
	if err := s.SetToken(t.Context(), ledger.Token{Name: "alice", Subject: "alice", Hash: hash}, "test"); err != nil {
		t.Fatal(err)
	}
	if who, err := c.IdentifyCaller(request(t, "Bearer "+person)); err != nil || who.Subject != "alice" {
		t.Errorf("another caller: %+v, %v", who, err)
	}
	go func() {
		for range i.asked { // for its keys
		}
	}()
	close(i.goOn)
	all.Wait()
	close(i.asked)
}
