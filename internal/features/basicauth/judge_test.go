package basicauth

import (
	"net/http"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestJudge: a request without a password is refused for certain. Of one with a password it can't be told.
func TestJudge(t *testing.T) {
	for sent, certain := range map[string]bool{"": true, "Bearer t": true, "Basic YTpi": false} {
		q := extend.Request{Header: http.Header{"Authorization": {sent}}}
		got := judgeRequest(q, Value{From: "users"})
		if len(got) != 1 || got[0].Status != 401 || (got[0].If == "") != certain {
			t.Errorf("%q: %+v", sent, got)
		}
	}
}
