package caller_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/ledger/caller"
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
	k, err := caller.NewKubernetes(&rest.Config{Host: server.URL,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		asked    string
		answered []string
		taken    bool
	}{
		{"ledger", []string{"ledger"}, true}, {"ledger", nil, false}, {"ledger", []string{"https://kubernetes"}, false},
		{"", nil, true}, {"", []string{"https://kubernetes"}, true},
	} {
		k.Audience, audiences = c.asked, c.answered
		who, ok, err := k.Review(t.Context(), "token")
		if err != nil || ok != c.taken || ok != (who.Subject != "") {
			t.Errorf("asked for %q, answered %q: %+v, %v, %v", c.asked, c.answered, who, ok, err)
		}
	}
}
