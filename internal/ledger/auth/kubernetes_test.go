package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/ledger/auth"
)

// An API server whose authenticator does not know audiences says of any of its tokens that it is valid, and names no
// audience. Who asked for one must not take that.
func TestTokenOfAnotherAudienceIsNotTaken(t *testing.T) {
	var audiences []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: audiences,
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:shop:deploy"}}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	k, err := auth.NewKubernetes(&rest.Config{Host: server.URL,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		asked    string
		answered []string
		taken    bool
	}{
		{"ledger", []string{"ledger"}, true}, {"ledger", nil, false}, {"ledger", []string{"https://kubernetes"}, false},
		{"", nil, true}, {"", []string{"https://kubernetes"}, true},
	} {
		k.Audience, audiences = c.asked, c.answered
		who, ok, err := k.Review(t.Context(), fmt.Sprint("token", i))
		if err != nil || ok != c.taken || ok != (who.Subject != "") {
			t.Errorf("asked for %q, answered %q: %+v, %v, %v", c.asked, c.answered, who, ok, err)
		}
	}
}

// TestGarbageIsNotReviewed: what can be no token of the cluster is nobody's, and the API server is not asked: there is
// none here.
func TestGarbageIsNotReviewed(t *testing.T) {
	k, err := auth.NewKubernetes(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	k.Audience = "ledger"
	token := func(claims string) string {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"RS256"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte("signature"))
	}
	future := time.Now().Add(time.Hour).Unix()
	for name, garbage := range map[string]string{
		"no characters of a token": "a b", "not even text": "\xff\x00", "in brackets": "<token>",
		"longer than tokens are": strings.Repeat("a", 17<<10),
		"expired":                token(`{"aud":["ledger"],"exp":1000000000}`),
		"for another audience":   token(fmt.Sprintf(`{"aud":["https://kubernetes"],"exp":%d}`, future)),
		"for one other audience": token(fmt.Sprintf(`{"aud":"else","exp":%d}`, future)),
		"no claims":              "eyJhbGciOiJSUzI1NiJ9.!.c2ln",
	} {
		if who, ok, err := k.Review(t.Context(), garbage); ok || err != nil || who.Subject != "" {
			t.Errorf("%s: %+v, %v, %v", name, who, ok, err)
		}
	}
	for name, may := range map[string]string{ // the API server is asked, and is away
		"of the audience": token(fmt.Sprintf(`{"aud":["ledger","b"],"exp":%d}`, future)), "without an end": token(`{}`),
		"of a static file": "31ada4fd-adec-460c-809a-9e56ceb75269", "of a bootstrap": "07401b.f395accd246ae52d",
		"of another program": "k8s-aws-v1.aHR0cHM6Ly9zdHMu", "of a webhook": "kubeconfig-u-8k2vd:x5g9wl7r4b",
	} {
		if _, _, err := k.Review(t.Context(), may); err == nil {
			t.Errorf("%s: it was not asked about", name)
		}
	}
}
